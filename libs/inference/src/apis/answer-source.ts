import type { Annotation } from '../model/conversation';

/** A page that an answer cites, before its place in a text is known. */
export type AnswerSource = Omit<Annotation, 'startIndex' | 'endIndex'>;

/** A place in a text, in UTF-16 units. */
export type Span = Pick<Annotation, 'startIndex' | 'endIndex'>;

/** Returns where a text names an address, or null: the whole link where it is one in Markdown. */
export function spanOf(url: string, text: string): Span | null {
  const at = text.indexOf(url);
  if (at === -1) return null;
  const end = at + url.length;
  const isLink = text.slice(at - 2, at) === '](' && text[end] === ')';
  const open = isLink ? text.lastIndexOf('[', at - 2) : -1;
  return open === -1 ? { startIndex: at, endIndex: end } : { startIndex: open, endIndex: end + 1 };
}

/** The same, or the whole text where it does not name the address. */
export function citedSpan({ url }: AnswerSource, text: string): Span {
  return spanOf(url, text) ?? { startIndex: 0, endIndex: text.length };
}
