import type { OutputAsset, OutputChunk } from 'rolldown';

export declare const MOMENTS: Readonly<
  Record<'serve' | 'rpc' | 'run' | 'ask' | 'ls' | 'log' | 'status', readonly string[]>
>;
export declare const IMPORT_FILE: { readonly fileName: string; readonly code: string };
export declare function bundleCli(input: string): Promise<readonly (OutputChunk | OutputAsset)[]>;
