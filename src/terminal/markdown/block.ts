export type Align = 'left' | 'center' | 'right';

/**
 * A finished part of a markdown text. The lines of a fenced code block are separate blocks, so that long ones
 * stream.
 */
export type Block = BlockContent & {
  /** Whether an empty line precedes it. */
  readonly gap: boolean;
};

export type BlockContent =
  | { readonly type: 'heading'; readonly level: number; readonly text: string }
  | { readonly type: 'paragraph'; readonly text: string }
  | { readonly type: 'code-open'; readonly language: string }
  | { readonly type: 'code-line'; readonly language: string; readonly text: string }
  | { readonly type: 'item'; readonly marker: string; readonly text: string }
  | { readonly type: 'quote'; readonly text: string }
  | {
      readonly type: 'table';
      readonly header: readonly string[];
      readonly aligns: readonly Align[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly type: 'rule' };
