/** Escapes text for HTML: no part of it can become markup, neither between tags nor in an attribute. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"'`]/g, (mark) => ENTITIES[mark] ?? mark);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** Accepts only Base64, so that the value cannot end a data URL. */
export function base64(text: string): string {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? text : '';
}

/** Accepts only image types that cannot contain a script. */
export function imageType(type: string): string | undefined {
  return IMAGE_TYPES.find((known) => known === type.toLowerCase());
}

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'];
