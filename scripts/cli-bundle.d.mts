import type { OutputAsset, OutputChunk } from 'rolldown';

export declare function bundleCli(input: string): Promise<readonly (OutputChunk | OutputAsset)[]>;
