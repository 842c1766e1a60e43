// SPDX-License-Identifier: MIT
#include "tests/storage/vfs_shim.h"

#include <sqlite3.h>

#include <cstring>
#include <new>

namespace tunefarm::storage::test {

int VfsHooks::open(const std::string&, bool, bool) {
    return SQLITE_OK;
}
int VfsHooks::write(const std::string&, std::string_view, std::int64_t) {
    return SQLITE_OK;
}
int VfsHooks::truncate(const std::string&, std::int64_t) {
    return SQLITE_OK;
}
int VfsHooks::sync(const std::string&) {
    return SQLITE_OK;
}
int VfsHooks::remove(const std::string&, bool) {
    return SQLITE_OK;
}

namespace {

/// The default VFS's file follows directly: its size is only known at run time.
struct Shim {
    sqlite3_file base;
    sqlite3_file* real;
    VfsHooks* hooks;
    std::string path;
};

sqlite3_file* real_of(sqlite3_file* file) {
    return reinterpret_cast<Shim*>(file)->real;
}
VfsHooks& hooks_of(sqlite3_file* file) {
    return *reinterpret_cast<Shim*>(file)->hooks;
}
const std::string& path_of(sqlite3_file* file) {
    return reinterpret_cast<Shim*>(file)->path;
}

sqlite3_vfs* under() {
    static sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
    return vfs;
}

int close_file(sqlite3_file* f) {
    const int code = real_of(f)->pMethods != nullptr ? real_of(f)->pMethods->xClose(real_of(f)) : SQLITE_OK;
    reinterpret_cast<Shim*>(f)->path.~basic_string();
    return code;
}
int read_file(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
    return real_of(f)->pMethods->xRead(real_of(f), to, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
    const std::string_view bytes(static_cast<const char*>(from), static_cast<std::size_t>(n));
    const int refused = hooks_of(f).write(path_of(f), bytes, at);
    return refused != SQLITE_OK ? refused : real_of(f)->pMethods->xWrite(real_of(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
    const int refused = hooks_of(f).truncate(path_of(f), size);
    return refused != SQLITE_OK ? refused : real_of(f)->pMethods->xTruncate(real_of(f), size);
}
int sync_file(sqlite3_file* f, int flags) {
    const int refused = hooks_of(f).sync(path_of(f));
    return refused != SQLITE_OK ? refused : real_of(f)->pMethods->xSync(real_of(f), flags);
}
int size_of_file(sqlite3_file* f, sqlite3_int64* size) {
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
int lock_file(sqlite3_file* f, int level) {
    return real_of(f)->pMethods->xLock(real_of(f), level);
}
int unlock_file(sqlite3_file* f, int level) {
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}
int check_lock(sqlite3_file* f, int* held) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), held);
}
int control(sqlite3_file* f, int operation, void* argument) {
    return real_of(f)->pMethods->xFileControl(real_of(f), operation, argument);
}
int sector_size(sqlite3_file* f) {
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}
int characteristics(sqlite3_file* f) {
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
int shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** to) {
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, to);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) {
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}
int shm_unmap(sqlite3_file* f, int remove) {
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

const sqlite3_io_methods kMethods = {2,           close_file,   read_file,       write_file,  truncate_file,
                                     sync_file,   size_of_file, lock_file,       unlock_file, check_lock,
                                     control,     sector_size,  characteristics, shm_map,     shm_lock,
                                     shm_barrier, shm_unmap,    nullptr,         nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* hooks = static_cast<VfsHooks*>(vfs->pAppData);
    const std::string path = name != nullptr ? name : "";
    const unsigned kind = static_cast<unsigned>(flags);
    const bool creates = (kind & SQLITE_OPEN_CREATE) != 0U;
    const bool journal = (kind & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0U;
    const int refused = hooks->open(path, creates, creates && journal);
    auto* shim = new (file) Shim{};
    if (refused != SQLITE_OK) return refused;
    shim->real = reinterpret_cast<sqlite3_file*>(shim + 1);
    shim->hooks = hooks;
    shim->path = path;
    std::memset(static_cast<void*>(shim->real), 0, static_cast<std::size_t>(under()->szOsFile));
    const int code = under()->xOpen(under(), name, shim->real, flags, out_flags);
    shim->base.pMethods = shim->real->pMethods != nullptr ? &kMethods : nullptr;
    if (shim->base.pMethods == nullptr) shim->path.~basic_string();
    return code;
}

int remove_file(sqlite3_vfs* vfs, const char* name, int sync_directory) {
    const int refused = static_cast<VfsHooks*>(vfs->pAppData)->remove(name, sync_directory != 0);
    return refused != SQLITE_OK ? refused : under()->xDelete(under(), name, sync_directory);
}

}  // namespace

struct VfsShim::State {
    std::string name;
    sqlite3_vfs vfs{};
};

VfsShim::VfsShim(const std::string& name, VfsHooks& hooks) : state_(std::make_unique<State>()) {
    state_->name = name;
    state_->vfs = *under();
    state_->vfs.pNext = nullptr;
    state_->vfs.zName = state_->name.c_str();
    state_->vfs.pAppData = &hooks;
    state_->vfs.szOsFile += static_cast<int>(sizeof(Shim));
    state_->vfs.xOpen = open_file;
    state_->vfs.xDelete = remove_file;
    sqlite3_vfs_register(&state_->vfs, 0);
}

VfsShim::~VfsShim() {
    sqlite3_vfs_unregister(&state_->vfs);
}

}  // namespace tunefarm::storage::test
