import { anyGlobExpression } from './glob.ts';

/** Files that hold keys and passwords by custom: what is read from them goes to a model's provider. At any depth. */
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

/** Look like secrets and are made to be shared. The last two are what source code says, not files. */
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

const secret = anyGlobExpression(SECRETS);
const open = anyGlobExpression(PUBLIC);

/** Whether a file, or the directory that it is in, holds secrets by its name. */
export function isSecret(path: string): boolean {
  // No file has a longer name, and texts of any length are asked about.
  if (path.length > MOST_CHARACTERS) return false;
  const name = plainPath(path);
  return secret.test(name) && !open.test(name);
}

const MOST_CHARACTERS = 10_000;

/**
 * The path as the most forgiving file system compares it: without case, compatibility forms and characters that HFS+
 * ignores. Otherwise `.ENV` and `.g\u200cit` would be other files here and the same ones on a Mac.
 */
export function plainPath(path: string): string {
  return path
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase();
}
