/** The result of one check. A problem comes with the next step. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'bad';
  readonly text: string;
  readonly next?: string;
}
