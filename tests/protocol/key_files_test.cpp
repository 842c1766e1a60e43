// SPDX-License-Identifier: MIT
#include "protocol/key_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

namespace tunefarm::protocol {
namespace {

class KeyFilesTest : public ::testing::Test {
  protected:
    void SetUp() override { dir_ = *make_temporary_directory("/tmp/tunefarm-keys-"); }
    void TearDown() override { ASSERT_TRUE(remove_tree(dir_).ok()); }

    KeyFiles make(const std::string& role, const std::string& name) {
        auto files = make_key_files(dir_, role, name);
        EXPECT_TRUE(files.ok()) << files.error().message;
        return files.ok() ? *files : KeyFiles{};
    }
    std::string write(const std::string& name, const std::string& content, mode_t mode = 0600) {
        const std::string path = dir_ + "/" + name;
        EXPECT_TRUE(write_file_atomically(path, content, mode).ok());
        return path;
    }
    static std::string content(const std::string& path) { return *read_file(path, 1 << 20); }
    static mode_t mode(const std::string& path) {
        struct stat info{};
        return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
    }
    /// The list is refused as input, with these words.
    void expect_list_refused(const std::string& text, const std::string& words) {
        const auto list = read_allow_list(write("list", text));
        ASSERT_FALSE(list.ok()) << text;
        EXPECT_EQ(list.error().kind, ErrorKind::kInput) << text;
        EXPECT_NE(list.error().message.find(words), std::string::npos) << list.error().message;
    }

    std::string dir_;
};

TEST_F(KeyFilesTest, AKeyIsReadAsItWasMade) {
    const KeyFiles files = make("worker", "node17");
    EXPECT_EQ(files.secret, dir_ + "/node17.key");
    EXPECT_EQ(files.shared, dir_ + "/node17.pub");
    EXPECT_EQ(mode(files.secret), 0600U);
    const auto key = read_key_file(files.secret);
    ASSERT_TRUE(key.ok()) << key.error().message;
    EXPECT_EQ(key->role, "worker");
    EXPECT_EQ(key->name, "node17");
    EXPECT_EQ(*public_key_of(key->keys.secret_key), key->keys.public_key);
    EXPECT_EQ(content(files.shared), "worker node17 " + key->keys.public_key + "\n");
    EXPECT_EQ(content(files.shared).find(key->keys.secret_key), std::string::npos);
}

TEST_F(KeyFilesTest, AKeyIsNeverReplaced) {
    const std::string before = content(make("worker", "node17").secret);
    const auto again = make_key_files(dir_, "worker", "node17");
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().kind, ErrorKind::kInput);
    EXPECT_EQ(content(dir_ + "/node17.key"), before);
    // A public file that is there must not be left with the secret of another.
    write("other.pub", "worker other x\n");
    EXPECT_FALSE(make_key_files(dir_, "worker", "other").ok());
    EXPECT_NE(::access((dir_ + "/other.key").c_str(), F_OK), 0);
}

TEST_F(KeyFilesTest, NamesAndRolesAreChecked) {
    for (const char* name : {"", ".", "..", "a/b", "a b", "a\tb", "#a", "a\x7f", "../up"}) {
        const auto made = make_key_files(dir_, "worker", name);
        ASSERT_FALSE(made.ok()) << name;
        EXPECT_EQ(made.error().kind, ErrorKind::kInput) << name;
    }
    EXPECT_FALSE(make_key_files(dir_, "worker", std::string(201, 'n')).ok());
    for (const char* role : {"", "root", "Worker", "worker "})
        EXPECT_FALSE(make_key_files(dir_, role, "n").ok()) << role;
}

TEST_F(KeyFilesTest, ASecretThatOthersMayReadIsRefused) {
    const KeyFiles files = make("worker", "node17");
    for (const mode_t bad : {0640U, 0604U, 0620U, 0644U, 0601U}) {
        ASSERT_EQ(::chmod(files.secret.c_str(), bad), 0);
        const auto key = read_key_file(files.secret);
        ASSERT_FALSE(key.ok()) << bad;
        EXPECT_EQ(key.error().kind, ErrorKind::kInput);
        EXPECT_NE(key.error().message.find("chmod 600 " + files.secret), std::string::npos) << key.error().message;
    }
    ASSERT_EQ(::chmod(files.secret.c_str(), 0400), 0);
    EXPECT_TRUE(read_key_file(files.secret).ok());
}

TEST_F(KeyFilesTest, AListThatOthersMayWriteIsRefused) {
    const KeyFiles files = make("worker", "node17");
    for (const mode_t bad : {0664U, 0646U, 0666U}) {
        ASSERT_EQ(::chmod(files.shared.c_str(), bad), 0);
        EXPECT_EQ(read_allow_list(files.shared).error().kind, ErrorKind::kInput) << bad;
    }
    ASSERT_EQ(::chmod(files.shared.c_str(), 0644), 0);
    EXPECT_TRUE(read_allow_list(files.shared).ok());
}

TEST_F(KeyFilesTest, BrokenSecretFilesAreInputErrors) {
    const std::string good = content(make("worker", "node17").secret);
    const std::string other = content(make("worker", "node18").secret);
    const auto line = [](const std::string& text, const std::string& word) {
        const std::size_t from = text.find("\n" + word + " ") + 1;
        return text.substr(from, text.find('\n', from) - from + 1);
    };
    std::string mixed = good;
    mixed.replace(mixed.find(line(good, "public")), line(good, "public").size(), line(other, "public"));
    std::string twice = good + line(good, "role");
    std::string no_secret = good;
    no_secret.erase(no_secret.find(line(good, "secret")));
    for (const std::string& text :
         {mixed, twice, no_secret, std::string(), std::string("junk\n"), std::string(1000, '\xff'),
          good + "argv rm -rf\n", std::string((1 << 20) + 1, '#')}) {
        const auto key = read_key_file(write("bad.key", text));
        ASSERT_FALSE(key.ok()) << text.substr(0, 200);
        EXPECT_EQ(key.error().kind, ErrorKind::kInput) << key.error().message;
        EXPECT_EQ(key.error().message.find(dir_), 0U) << key.error().message;
    }
    EXPECT_EQ(read_key_file(dir_ + "/none.key").error().kind, ErrorKind::kNotFound);
    EXPECT_EQ(read_key_file(dir_).error().kind, ErrorKind::kInput);
}

TEST_F(KeyFilesTest, AListIsPutTogetherOfPublicFiles) {
    const std::string worker = content(make("worker", "node17").shared);
    const std::string person = content(make("client", "ann").shared);
    const std::string newer = "worker node17 " + keygen()->public_key + "\n";
    const auto list = read_allow_list(write("list", "# rack 1\n" + worker + "\n  # people\n" + person + newer));
    ASSERT_TRUE(list.ok()) << list.error().message;
    ASSERT_EQ(list->size(), 3U);
    EXPECT_EQ((*list)[0].name, "node17");
    EXPECT_EQ((*list)[0].role, "worker");
    EXPECT_EQ((*list)[1].name, "ann");
    EXPECT_EQ((*list)[1].role, "client");
    EXPECT_EQ((*list)[2].name, "node17") << "two keys may share a name: that is how one is rotated";
    EXPECT_NE((*list)[0].public_key, (*list)[2].public_key);
    EXPECT_TRUE(read_allow_list(write("empty", "# nobody\n"))->empty());
}

TEST_F(KeyFilesTest, BrokenListsNameTheirLine) {
    const KeyFiles worker = make("worker", "node17");
    const std::string good = content(worker.shared);
    const std::string coordinator = content(make("coordinator", "farm").shared);
    expect_list_refused(good + "worker node18\n", "list:2: not ROLE NAME KEY");
    expect_list_refused("\n\nboss node18 " + keygen()->public_key, "list:3: no role 'boss'");
    expect_list_refused("worker node18 short", "list:1");
    expect_list_refused("worker a/b " + keygen()->public_key, "list:1: 'a/b' cannot name a key");
    expect_list_refused(good + "# again\n" + good, "list:3: the same key as in " + dir_ + "/list:1");
    expect_list_refused(good + "admin node17 " + keygen()->public_key, "node17 is a worker already");
    expect_list_refused(coordinator, "does not connect to a coordinator");
    expect_list_refused(content(worker.secret), "list:2: this is a secret key");
    EXPECT_EQ(read_allow_list(dir_ + "/none").error().kind, ErrorKind::kNotFound);
}

TEST_F(KeyFilesTest, TheServersKeyIsOneOfACoordinator) {
    const KeyFiles farm = make("coordinator", "farm");
    const auto key = read_server_key(farm.shared);
    ASSERT_TRUE(key.ok()) << key.error().message;
    EXPECT_EQ(*key, read_key_file(farm.secret)->keys.public_key);
    EXPECT_NE(read_server_key(make("worker", "node17").shared).error().message.find("the key of a worker"),
              std::string::npos);
    EXPECT_EQ(read_server_key(write("none", "#\n")).error().kind, ErrorKind::kInput);
    EXPECT_EQ(read_server_key(farm.secret).error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace tunefarm::protocol
