/**
 * Files that conventionally contain keys and passwords, at any depth: what is read from them is sent to a
 * model's provider.
 */
const SECRETS = [
  '.env',
  '.env.*',
  '*.env',
  '.envrc',
  '.npmrc',
  '.pypirc',
  '.netrc',
  '_netrc',
  '.pgpass',
  '.my.cnf',
  '.git-credentials',
  '.dockercfg',
  '.htpasswd',
  '.vault-token',
  '.boto',
  '.s3cfg',
  '*.pem',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.p8',
  '*.jks',
  '*.keystore',
  '*.kdbx',
  '*.ppk',
  'id_rsa*',
  'id_dsa*',
  'id_ecdsa*',
  'id_ed25519*',
  'kubeconfig',
  '*.kubeconfig',
  'credentials.json',
  '*service-account*.json',
  '*service_account*.json',
  'client_secret*.json',
  'secrets.json',
  'secrets.yml',
  'secrets.yaml',
  'terraform.tfstate',
  '*.tfvars',
  '.ssh/**',
  '.gnupg/**',
  '.aws/**',
  '.azure/**',
  '.kube/**',
  '.docker/config.json',
  '.password-store/**',
  '.secrets/**',
  '.config/gcloud/**',
  '.config/gh/**',
  'etc/shadow',
  'etc/gshadow',
];

/** Look like secrets but are made to be shared. The last two match source code, not files. */
const PUBLIC = [
  '*.pub',
  '.env.example',
  '.env.sample',
  '.env.template',
  '.env.dist',
  'example.env',
  'process.env',
  'import.meta.env',
];

const secret = compileFileList(SECRETS);
const open = compileFileList(PUBLIC);

/** Returns whether a file or its directory contains secrets, judged by name. */
export function isSecret(path: string): boolean {
  // No file has a longer name, and this is called with texts of any length.
  if (path.length > MAX_CHARACTERS) return false;
  const name = normalizePath(path);
  return secret.test(name) && !open.test(name);
}

const MAX_CHARACTERS = 10_000;

/**
 * Normalizes a path like the most lenient file system: case, compatibility forms and characters that HFS+
 * ignores are removed. Otherwise `.ENV` and `.g\u200cit` would be different files here and the same ones on a
 * Mac.
 */
export function normalizePath(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase();
}

/**
 * Compiles a list of names, in which `*` matches within a name and `/**` at the end everything below, to one expression:
 * thousands of paths are matched against it, and it is 20 times as fast as the matcher for the globs of others.
 */
export function compileFileList(names: readonly string[]): RegExp {
  const sources = names.map((name) =>
    name.replace(/\/\*\*$|[\\^$.*+?()[\]{}|]/g, (part) => {
      if (part === '/**') return '(?:/.*)?';
      return part === '*' ? '[^/]*' : `\\${part}`;
    }),
  );
  return new RegExp(`^(?:.*/)?(?:${sources.join('|')})$`, 'su');
}
