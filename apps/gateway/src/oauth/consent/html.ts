/** Markup that was made by `html` and by nothing else. */
export class Html {
  constructor(readonly markup: string) {}
}

type Part = string | number | Html | null | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Markup from a template. What is put into it is text and escaped, so that it can stand between tags and in
 * quoted attributes; markup goes in only as `Html`. Null is nothing.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((markup, text, index) => markup + write(parts[index - 1] ?? null) + text));
}

function write(part: Part): string {
  if (part === null) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(({ markup }) => markup).join('');
  return String(part).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
