/** Text as it stands in a page: nothing of it can become markup, neither between tags nor inside of an attribute. */
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

/** Base64 and nothing else: what is put into a data URL cannot leave it. */
export function base64(text: string): string {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? text : '';
}

/** An image type that cannot hold a script. */
export function imageType(type: string): string | undefined {
  return IMAGE_TYPES.find((known) => known === type.toLowerCase());
}

const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp'];
