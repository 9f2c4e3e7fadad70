/** Every provider, door and back end. They are in separate files: whoever opens doors loads no provider. */
export { podDoor } from './protocols/pod/door.ts';
export { backendProgram, backends } from './registry/backends.ts';
export { doors, type KnownDoor } from './registry/doors.ts';
export { providerNamed, providers } from './registry/providers.ts';
