/** One step of building the file system of a sandboxed command. */
export type Mount =
  | {
      readonly type: 'read-only' | 'writable';
      readonly target: string;
      /** The path on the host, if it differs. */
      readonly source?: string;
    }
  /** An empty directory in memory; what is written to it is lost. */
  | {
      readonly type: 'scratch';
      readonly target: string;
      readonly bytes: number;
      readonly mode: string;
    }
  /** An empty directory or file that hides what is there. */
  | { readonly type: 'empty-directory' | 'empty-file'; readonly target: string }
  /** An empty read-only file; unlike a device, nothing can be written to it. */
  | { readonly type: 'blank-file'; readonly target: string }
  | { readonly type: 'link'; readonly target: string; readonly to: string };

/** The features of the installed bubblewrap. */
export interface Bubblewrap {
  readonly program: string;
  readonly hasSize: boolean;
  readonly hasPerms: boolean;
  readonly hasDisableUserns: boolean;
}

/**
 * Returns the mounts as arguments of bubblewrap: outer ones first, since a later mount hides an earlier one.
 * `blank` returns the number of a new open file without content.
 */
export function mountArguments(
  mounts: readonly Mount[],
  bubblewrap: Pick<Bubblewrap, 'hasSize' | 'hasPerms'>,
  blank: () => string,
): readonly string[] {
  const sorted = mounts.toSorted(
    (left, right) => pathDepth(left.target) - pathDepth(right.target) || ORDER[left.type] - ORDER[right.type],
  );
  // A mount may be inside an empty directory, which must be writable until the mount is created.
  const emptied = sorted.filter(({ type }) => type === 'empty-directory');
  return [
    ...sorted.flatMap((mount) => mountArgument(mount, bubblewrap, blank)),
    ...emptied.flatMap(({ target }) => ['--remount-ro', target]),
  ];
}

/** At the same path, hiding mounts follow showing ones. */
const ORDER: Readonly<Record<Mount['type'], number>> = {
  scratch: 0,
  link: 1,
  writable: 2,
  'read-only': 3,
  'empty-directory': 4,
  'empty-file': 4,
  'blank-file': 4,
};

function pathDepth(path: string): number {
  return path.split('/').filter((segment) => segment !== '').length;
}

function mountArgument(
  mount: Mount,
  { hasSize, hasPerms }: Pick<Bubblewrap, 'hasSize' | 'hasPerms'>,
  blank: () => string,
): readonly string[] {
  const { target } = mount;
  switch (mount.type) {
    case 'read-only':
      return ['--ro-bind', mount.source ?? target, target];
    case 'writable':
      return ['--bind', mount.source ?? target, target];
    case 'scratch':
      return [
        ...(hasPerms ? ['--perms', mount.mode] : []),
        ...(hasSize ? ['--size', String(mount.bytes)] : []),
        '--tmpfs',
        target,
      ];
    case 'empty-directory':
      return ['--tmpfs', target];
    case 'empty-file':
      return ['--ro-bind', '/dev/null', target];
    case 'blank-file':
      return [...(hasPerms ? ['--perms', '0444'] : []), '--ro-bind-data', blank(), target];
    case 'link':
      return ['--symlink', mount.to, target];
    default:
      return [];
  }
}
