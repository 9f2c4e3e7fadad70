import { shape } from '../base/index.ts';

/** What a session is about. A name that a person has given takes precedence. */
export interface SessionTitle {
  readonly text: string;
  /** The first prompt, or a model that was asked for a title. */
  readonly source: 'prompt' | 'model';
}

export const SESSION_TITLE: shape.Shape<SessionTitle> = shape.fields(
  { text: shape.text(), source: shape.choice(['prompt', 'model']) },
  {},
);
