# SPDX-License-Identifier: MIT
# Everything that crosses a socket of tunefarm. docs/protocol.md gives meanings, limits and sequences.
#
# Append only: a field, union member or enumerator gets the next number and keeps it for ever; nothing is removed,
# renumbered or given another type. A new union member or enumerator raises the minor version (messages.h), because
# an older peer cannot read it; a new optional field does not.
@0xd6f1b9c4a7e0835b;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("tunefarm::protocol::wire");

# ---- shared ----

# SHA-256, always 32 bytes.
using Digest = Data;
# Microseconds; never negative.
using Micros = Int64;
# A number of bytes; never negative.
using ByteCount = Int64;

enum TaskKind { split @0; prepare @1; helper @2; build @3; finish @4; measure @5; conclude @6; noop @7; }

enum Outcome {
  ok @0; inputFailed @1; crashed @2; timedOut @3; outOfMemory @4; cancelled @5; noSpace @6; lost @7; unsupported @8;
}

# The fencing token.
struct AttemptKey {
  action @0 :Int64;
  attempt @1 :UInt32;
}

# ---- control socket, worker to coordinator ----

struct FromWorker {
  union {
    hello @0 :Hello;
    heartbeat @1 :WorkerHeartbeat;
    credit @2 :Credit;
    rows @3 :Rows;
    result @4 :AttemptResult;
    goodbye @5 :Goodbye;
    # Of a client, which is no worker and says no hello.
    client @6 :ClientRequest;
  }
}

struct Capability {
  toolchain @0 :Text;
  verb @1 :TaskKind;
  target @2 :Text;
  fingerprint @3 :Digest;
}

struct Missing {
  toolchain @0 :Text;
  target @1 :Text;
  reason @2 :Text;
}

struct Device {
  id @0 :Text;
  target @1 :Text;
  description @2 :Text;
  facts @3 :Text;
  simulated @4 :Bool;
  slots @5 :UInt32;
}

struct Hello {
  # Read first: everything below may mean something else in another major version.
  major @0 :UInt16;
  minor @1 :UInt16;
  # Who.
  boot @2 :Data;
  host @3 :Text;
  # What it offers.
  slots @4 :UInt32;
  memory @5 :ByteCount;
  capabilities @6 :List(Capability);
  devices @7 :List(Device);
  missing @8 :List(Missing);
  # What it is doing.
  running @9 :List(AttemptKey);
}

struct SlotAccount {
  wall @0 :Micros;
  slots @1 :UInt32;
  # Indexed by TaskKind.
  busy @2 :List(Micros);
  idle @3 :List(Idle);

  struct Idle {
    reason @0 :Text;
    duration @1 :Micros;
  }
}

struct WorkerHeartbeat {
  running @0 :List(AttemptKey);
  account @1 :SlotAccount;
  # Messages sent on this connection before this one, the Hello included; 0: not counted.
  sent @2 :UInt64;
}

struct Credit {
  slots @0 :UInt32;
  memory @1 :ByteCount;
  reason @2 :Text;
}

struct Rows {
  key @0 :AttemptKey;
  first @1 :UInt64;
  rows @2 :List(Text);
}

struct Output {
  name @0 :Text;
  digest @1 :Digest;
  size @2 :UInt64;
}

struct Phase {
  name @0 :Text;
  duration @1 :Micros;
}

struct Timings {
  # Worker's monotonic clock, from the arrival of the assignment.
  started @0 :Micros;
  ended @1 :Micros;
  # What it used.
  cpu @2 :Micros;
  peakMemory @3 :ByteCount;
  phases @4 :List(Phase);
}

struct AttemptResult {
  key @0 :AttemptKey;
  outcome @1 :Outcome;
  # For people.
  message @2 :Text;
  log @3 :Text;
  # For the coordinator.
  result @4 :Text;
  outputs @5 :List(Output);
  rowCount @6 :UInt64;
  timings @7 :Timings;
}

struct Goodbye {
  reason @0 :Text;
}

# ---- control socket, coordinator to worker ----

struct FromCoordinator {
  union {
    welcome @0 :Welcome;
    refused @1 :Refused;
    assign @2 :Assign;
    ack @3 :Ack;
    cancel @4 :Cancel;
    # Of 1.0, not counted.
    heartbeat @5 :Void;
    shutdown @6 :Shutdown;
    countedHeartbeat @7 :CoordinatorHeartbeat;
    # To a client.
    reply @8 :ClientReply;
  }
}

struct CoordinatorHeartbeat {
  # Messages sent on this connection before this one, the Welcome included; 0: not counted.
  sent @0 :UInt64;
}

struct Welcome {
  # The version that the coordinator will speak to this worker.
  major @0 :UInt16;
  minor @1 :UInt16;
  # Where the worker is, and where artifacts are.
  farm @2 :Text;
  artifacts @3 :Text;
  # Liveness, both ways.
  heartbeat @4 :Micros;
  deadAfter @5 :Micros;
}

struct Refused {
  reason @0 :Text;
  # Only this connection is unknown.
  helloAgain @1 :Bool;
}

struct Input {
  name @0 :Text;
  path @1 :Text;
  digest @2 :Digest;
  size @3 :UInt64;
}

struct Item {
  key @0 :AttemptKey;
  args @1 :Text;
}

struct Assign {
  # Which driver, which verb, for what, on what.
  kind @0 :TaskKind;
  toolchain @1 :Text;
  target @2 :Text;
  device @3 :Text;
  # Typed content only: no program, argument list or path outside the private directory.
  items @4 :List(Item);
  inputs @5 :List(Input);
  # Limits, from the start of execution.
  timeLimit @6 :Micros;
  memoryLimit @7 :ByteCount;
}

struct Ack {
  keys @0 :List(AttemptKey);
  stale @1 :Bool;
}

struct Cancel {
  keys @0 :List(AttemptKey);
  reason @1 :Text;
}

struct Shutdown {
  drain @0 :Bool;
  reason @1 :Text;
}

# ---- control socket, clients ----

struct ClientRequest {
  # Chosen by the client, repeated in the reply.
  request @0 :UInt64;
  union {
    explain @1 :Explain;
    cancel @2 :Campaign;
    progress @3 :Campaign;
    submit @4 :Submit;
    retry @5 :Retry;
  }

  struct Campaign {
    id @0 :Int64;
  }

  struct Submit {
    name @0 :Text;
    # Empty: the first connected device's.
    targets @1 :List(Text);
    buildOnly @2 :Bool;
    priority @3 :Int32;
    configs @4 :List(SubmittedConfig);
  }

  struct Retry {
    # 0: the latest.
    campaign @0 :Int64;
    forget @1 :Bool;
  }

  struct Explain {
    # 0: all that run.
    campaign @0 :Int64;
    # Which of its tasks; absent (-1): all.
    step @1 :Int32 = -1;
    kind @2 :Int32 = -1;
    index @3 :Int32 = -1;
  }
}

struct SubmittedConfig {
  # For messages and as part of the campaign's key; nobody opens it.
  path @0 :Text;
  # The file's bytes are an artifact.
  content @1 :Digest;
}

struct ClientReply {
  request @0 :UInt64;
  union {
    # JSON, with a version of its own.
    answer @1 :Text;
    failed @2 :Failed;
  }

  struct Failed {
    kind @0 :FailureKind;
    message @1 :Text;
  }
}

# ---- artifact socket ----

# How the second frame holds its content.
enum ChunkCodec { raw @0; zstd @1; }

enum FailureKind {
  input @0; notFound @1; corruption @2; io @3; noSpace @4; unavailable @5; unsupported @6; cancelled @7; timeout @8;
  internal @9;
}

struct ArtifactRequest {
  # Chosen by the client, repeated in the answer.
  request @0 :UInt64;
  union {
    get @1 :Get;
    findMissing @2 :List(Digest);
    put @3 :Put;
  }

  struct Get {
    digest @0 :Digest;
    offset @1 :UInt64;
    length @2 :UInt32;
    acceptZstd @3 :Bool;
  }

  # The content is the second frame.
  struct Put {
    digest @0 :Digest;
    size @1 :UInt64;
    offset @2 :UInt64;
    length @3 :UInt32;
    codec @4 :ChunkCodec;
  }
}

struct ArtifactReply {
  request @0 :UInt64;
  union {
    chunk @1 :Chunk;
    missing @2 :List(Digest);
    putStatus @3 :PutStatus;
    notFound @4 :Void;
    failed @5 :Failed;
  }

  # The content is the second frame.
  struct Chunk {
    offset @0 :UInt64;
    size @1 :UInt64;
    length @2 :UInt32;
    codec @3 :ChunkCodec;
  }

  struct PutStatus {
    have @0 :UInt64;
    complete @1 :Bool;
    busy @2 :Bool;
  }

  struct Failed {
    kind @0 :FailureKind;
    message @1 :Text;
  }
}
