// SPDX-License-Identifier: MIT
#include "coordinator/server/step_document.h"

#include <gtest/gtest.h>

#include "coordinator/server/action_draft.h"

namespace tunefarm::server {
namespace {

std::string document(const std::string& kernel, const std::string& solution) {
    return R"({"kernels":[)" + kernel + R"(],"solutions":[)" + solution +
           R"(],"problems":[{"name":"8","sizes":[8,8,1,8],"flop":1024}]})";
}

TEST(StepDocumentTest, ReadsWhatPrepareWrites) {
    const auto parsed =
        parse_step_document(document(R"({"name":"k","args":{"b":1,"a":2},"cost":2})", R"({"name":"s","kernel":0})"));
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->kernels[0].args, R"({"a":2,"b":1})") << "canonical, so that equal arguments are equal actions";
    EXPECT_EQ(parsed->problems[0].flop, 1024);
    EXPECT_EQ(parsed->solution_index().at("s"), 0);
}

TEST(StepDocumentTest, RefusesWhatADriverMustNotWrite) {
    const std::string kernel = R"({"name":"k","args":{}})";
    EXPECT_FALSE(parse_step_document("[]").ok());
    EXPECT_FALSE(parse_step_document("{").ok());
    EXPECT_FALSE(parse_step_document(document(R"({"name":"../k","args":{}})", "")).ok());
    EXPECT_FALSE(parse_step_document(document(R"({"name":"k","args":[]})", "")).ok());
    EXPECT_FALSE(parse_step_document(document(kernel + "," + kernel, "")).ok());
    EXPECT_FALSE(parse_step_document(document(kernel, R"({"name":"s","kernel":1})")).ok());
    EXPECT_FALSE(parse_step_document(document(kernel, R"({"name":"s","kernel":-1})")).ok());
}

TEST(StepDocumentTest, WorkThatIsNegativeOrNotANumberIsRefused) {
    for (const char* flop : {"-1", "1e999", "\"64\""}) {
        const std::string text =
            std::string(R"({"kernels":[],"solutions":[],"problems":[{"name":"p","sizes":[1],"flop":)") + flop + "}]}";
        EXPECT_FALSE(parse_step_document(text).ok()) << flop;
    }
}

TEST(ActionKeyTest, EveryPartOfTheDraftChangesIt) {
    ActionDraft base;
    base.kind = TaskKind::kBuild;
    base.toolchain = "gemm";
    base.target = "gfx942";
    base.args = "{}";
    base.inputs = {{"a", "b", sha256("x"), 1}};
    const Digest key = action_key(base);
    EXPECT_EQ(action_key(base), key);
    const auto changed = [&](auto change) {
        ActionDraft draft = base;
        change(draft);
        return action_key(draft) != key;
    };
    EXPECT_TRUE(changed([](ActionDraft& d) { d.kind = TaskKind::kHelper; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.toolchain = "gemn"; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.target = "gfx950"; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.fingerprint = sha256("f"); }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.args = "{ }"; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.inputs[0].name = "c"; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.inputs[0].path = "c"; }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.inputs[0].digest = sha256("y"); }));
    EXPECT_TRUE(changed([](ActionDraft& d) { d.inputs.clear(); }));
    EXPECT_FALSE(changed([](ActionDraft& d) { d.description = "for people"; }));
}

}  // namespace
}  // namespace tunefarm::server
