import type { ExtensionUi } from '../api.ts';

type WidgetPlacement = 'aboveEditor' | 'belowEditor';

/** Hosts show plain text without colours. */
const identity = (text: string): string => text;
const uncoloured = (_: string, text: string): string => text;
const THEME = {
  name: 'plain',
  fg: uncoloured,
  bg: uncoloured,
  bold: identity,
  dim: identity,
  italic: identity,
  underline: identity,
  inverse: identity,
  strikethrough: identity,
};

const nothing = (): void => {};

/** The members of `ctx.ui` in pi. Terminal functions do nothing, as in pi's own RPC mode. */
export function piUi(ui: ExtensionUi) {
  return {
    ...ui,
    setWidget: (
      key: string,
      lines: unknown,
      where?: WidgetPlacement | { readonly placement?: WidgetPlacement },
    ): void => {
      // A function would render to a terminal.
      if (typeof lines === 'function') return;
      const placement = typeof where === 'object' ? where.placement : where;
      ui.setWidget(key, Array.isArray(lines) ? lines.map(String) : undefined, placement);
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
