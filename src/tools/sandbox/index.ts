/** Runs commands where they can do no harm: in bubblewrap, on a workspace whose repositories and settings stay as they are. */
export { openSandboxes, type Sandboxes, type SandboxOptions, type SandboxScope } from './sandbox.ts';
