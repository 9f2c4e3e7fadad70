/** Runs commands in bubblewrap, on a workspace whose repositories and settings cannot be changed. */
export { openSandboxes, type Sandboxes, type SandboxOptions, type SandboxScope } from './sandbox.ts';
