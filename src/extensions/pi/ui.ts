import type { ExtensionUi } from '../api.ts';

type Place = 'aboveEditor' | 'belowEditor';

/** Hosts show plain text: nothing is coloured. */
const asIs = (text: string): string => text;
const coloured = (_: string, text: string): string => text;
const THEME = {
  name: 'plain',
  fg: coloured,
  bg: coloured,
  bold: asIs,
  dim: asIs,
  italic: asIs,
  underline: asIs,
  inverse: asIs,
  strikethrough: asIs,
};

const nothing = (): void => {};

/** Everything that pi's extensions call on `ctx.ui`; what is about a terminal does nothing, as in pi's own RPC mode. */
export function piUi(ui: ExtensionUi) {
  return {
    ...ui,
    setWidget: (key: string, lines: unknown, where?: Place | { readonly placement?: Place }): void => {
      // A function would draw on a terminal.
      if (typeof lines === 'function') return;
      const place = typeof where === 'object' ? where.placement : where;
      ui.setWidget(key, Array.isArray(lines) ? lines.map(String) : undefined, place);
    },
    pasteToEditor: ui.setEditorText,
    getEditorText: (): string => '',
    custom: async (): Promise<undefined> => undefined,
    theme: THEME,
    getAllThemes: (): readonly object[] => [],
    getTheme: (): undefined => undefined,
    setTheme: () => ({ success: false, error: 'Theme switching not supported in RPC mode' }),
    onTerminalInput: () => nothing,
    getEditorComponent: (): undefined => undefined,
    getToolsExpanded: (): boolean => false,
    setToolsExpanded: nothing,
    setWorkingMessage: nothing,
    setWorkingVisible: nothing,
    setWorkingIndicator: nothing,
    setHiddenThinkingLabel: nothing,
    setFooter: nothing,
    setHeader: nothing,
    setEditorComponent: nothing,
    addAutocompleteProvider: nothing,
  };
}
