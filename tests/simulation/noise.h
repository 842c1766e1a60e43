// SPDX-License-Identifier: MIT
// Random numbers by name: the value of (seed, stream, key) does not depend on what was drawn before. SplitMix64
// (Steele, Lea, Flood 2014) as a hash.
#pragma once

#include <cmath>
#include <cstdint>

namespace tunefarm::simulation {

class Noise {
  public:
    explicit Noise(std::uint64_t seed) : seed_(seed) {}

    std::uint64_t bits(std::uint64_t stream, std::uint64_t key) const {
        std::uint64_t z = mix(mix(seed_ + 0x9e3779b97f4a7c15ULL * stream) ^ key);
        return mix(z + 0x9e3779b97f4a7c15ULL);
    }
    /// In [0, 1).
    double uniform(std::uint64_t stream, std::uint64_t key) const {
        return static_cast<double>(bits(stream, key) >> 11) * 0x1.0p-53;
    }
    /// Box–Muller, one of the pair.
    double normal(std::uint64_t stream, std::uint64_t key) const {
        constexpr double kTwoPi = 6.283185307179586;
        const double a = 1.0 - uniform(stream, key);
        const double b = uniform(stream + 0x10000, key);
        return std::sqrt(-2.0 * std::log(a)) * std::cos(kTwoPi * b);
    }
    double lognormal(std::uint64_t stream, std::uint64_t key, double mean, double sigma) const {
        return std::exp(mean + sigma * normal(stream, key));
    }

  private:
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    std::uint64_t seed_;
};

}  // namespace tunefarm::simulation
