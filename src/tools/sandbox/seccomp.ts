/**
 * The system calls that a sandboxed program may not make: those that reach other processes, kernel settings, or
 * kernel code that ordinary programs do not need. Numbers by architecture: [x86-64, arm64], with -1 for a call
 * that the architecture lacks.
 */
const DENIED: Readonly<Record<string, readonly [number, number]>> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  unshare: [272, 97],
  setns: [308, 268],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  iopl: [172, -1],
  ioperm: [173, -1],
  modify_ldt: [154, -1],
  vhangup: [153, 58],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
};

interface Architecture {
  /** The kernel's identifier in the filter data. */
  readonly audit: number;
  readonly column: 0 | 1;
  readonly clone: number;
  readonly clone3: number;
  readonly ioctl: number;
  readonly socket: number;
  /** The first number of a second call table, if there is one. */
  readonly otherTable?: number;
}

const ARCHITECTURES: Readonly<Partial<Record<string, Architecture>>> = {
  x64: {
    audit: 0xc000003e,
    column: 0,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    socket: 41,
    otherTable: 0x4000_0000,
  },
  arm64: { audit: 0xc00000b7, column: 1, clone: 220, clone3: 435, ioctl: 29, socket: 198 },
};

/**
 * Returns a filter for the kernel, as bubblewrap loads it; undefined for an architecture whose numbers are not
 * listed here.
 */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  const table = ARCHITECTURES[architecture];
  if (table === undefined) return undefined;
  const denied = Object.values(DENIED).flatMap((numbers) => {
    const number = numbers[table.column];
    return number < 0 ? [] : [...jumpUnless(JEQ, number, 1), rejectWith(EPERM)];
  });
  const program: readonly Instruction[] = [
    load(ARCHITECTURE_AT),
    // Calls of another architecture have other numbers, so the list does not apply to them.
    [JEQ, 1, 0, table.audit],
    rejectWith(ENOSYS),
    load(NUMBER_AT),
    ...(table.otherTable === undefined ? [] : [...jumpUnless(JGE, table.otherTable, 1), rejectWith(ENOSYS)]),
    ...denied,
    // The flags of clone3 are in memory, where a filter cannot read them. The C library then uses clone.
    ...jumpUnless(JEQ, table.clone3, 1),
    rejectWith(ENOSYS),
    ...jumpUnless(JEQ, table.clone, 3),
    load(argumentAt(0)),
    ...jumpUnless(JSET, NEW_NAMESPACES, 1),
    rejectWith(EPERM),
    load(NUMBER_AT),
    ...jumpUnless(JEQ, table.ioctl, 5),
    load(argumentAt(1)),
    ...jumpUnless(JEQ, TIOCSTI, 1),
    rejectWith(EPERM),
    ...jumpUnless(JEQ, TIOCLINUX, 1),
    rejectWith(EPERM),
    load(NUMBER_AT),
    ...jumpUnless(JEQ, table.socket, 1 + FAMILIES.length * 2 + 1),
    load(argumentAt(0)),
    ...FAMILIES.flatMap((family) => [...jumpUnless(JEQ, family, 1), ALLOW]),
    rejectWith(EAFNOSUPPORT),
    ALLOW,
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}

/** A code, how many instructions to skip if the comparison holds and if it does not, and a value. */
type Instruction = readonly [number, number, number, number];

const LOAD = 0x20;
const JEQ = 0x15;
const JGE = 0x35;
const JSET = 0x45;
const RETURN = 0x06;

const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;

/** The lower half of an argument; both architectures are little-endian. */
function argumentAt(index: number): number {
  return 16 + 8 * index;
}

function load(offset: number): Instruction {
  return [LOAD, 0, 0, offset];
}

/** Skips the next instructions unless the comparison holds. */
function jumpUnless(code: number, value: number, skipped: number): readonly Instruction[] {
  return [[code, 0, skipped, value]];
}

function rejectWith(error: number): Instruction {
  return [RETURN, 0, 0, 0x0005_0000 | error];
}

const ALLOW: Instruction = [RETURN, 0, 0, 0x7fff_0000];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e02_0000;

/** Both put characters into a terminal's input. */
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

/** AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which lists network interfaces. */
const FAMILIES = [0, 1, 2, 10, 16];
