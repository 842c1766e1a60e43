// SPDX-License-Identifier: MIT
#include "tests/storage/full_disk.h"

#include <sqlite3.h>

#include <cstring>
#include <new>

namespace tunefarm::storage::test {

std::atomic<bool> FullDisk::full{false};
std::atomic<int> FullDisk::refused{0};

namespace {

/// The default VFS's file follows directly: its size is only known at run time.
struct Shim {
    sqlite3_file base;
    sqlite3_file* real;
};

sqlite3_file* real_of(sqlite3_file* file) {
    return reinterpret_cast<Shim*>(file)->real;
}

sqlite3_vfs* under() {
    static sqlite3_vfs* vfs = sqlite3_vfs_find("unix");
    return vfs;
}

int close_file(sqlite3_file* f) {
    return real_of(f)->pMethods != nullptr ? real_of(f)->pMethods->xClose(real_of(f)) : SQLITE_OK;
}
int read_file(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
    return real_of(f)->pMethods->xRead(real_of(f), to, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
    if (FullDisk::full) {
        ++FullDisk::refused;
        return SQLITE_FULL;
    }
    return real_of(f)->pMethods->xWrite(real_of(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}
int sync_file(sqlite3_file* f, int flags) {
    return real_of(f)->pMethods->xSync(real_of(f), flags);
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

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* shim = new (file) Shim{};
    shim->real = reinterpret_cast<sqlite3_file*>(shim + 1);
    std::memset(static_cast<void*>(shim->real), 0, static_cast<std::size_t>(under()->szOsFile));
    const int code = under()->xOpen(under(), name, shim->real, flags, out_flags);
    shim->base.pMethods = shim->real->pMethods != nullptr ? &kMethods : nullptr;
    return code;
}

}  // namespace

void FullDisk::install() {
    static sqlite3_vfs vfs;
    if (sqlite3_vfs_find(kVfs) != nullptr) return;
    vfs = *under();
    vfs.pNext = nullptr;
    vfs.zName = kVfs;
    vfs.szOsFile += static_cast<int>(sizeof(Shim));
    vfs.xOpen = open_file;
    sqlite3_vfs_register(&vfs, 0);
}

}  // namespace tunefarm::storage::test
