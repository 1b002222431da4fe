import type { Annotation } from '../model/conversation';

/** A page that an answer cites, before the position of the citation in a text is known. */
export type AnswerSource = Omit<Annotation, 'startIndex' | 'endIndex'>;

/**
 * The text of a file of the request. A caller that sends it back with the file, in the answer that had it, spares the
 * gateway reading the file again.
 */
export interface ReadFile {
  /** SHA-256 of the file's bytes, in hexadecimal digits. */
  readonly hash: string;
  readonly name: string | null;
  readonly text: string;
}

/** A range of a text, in UTF-16 units. */
export type Span = Pick<Annotation, 'startIndex' | 'endIndex'>;

/**
 * Returns the range in which a text contains a URL, or null. If the URL is part of a Markdown link, the range is the
 * whole link.
 */
export function spanOf(url: string, text: string): Span | null {
  const at = text.indexOf(url);
  if (at === -1) return null;
  const end = at + url.length;
  const isLink = text.slice(at - 2, at) === '](' && text[end] === ')';
  const open = isLink ? text.lastIndexOf('[', at - 2) : -1;
  return open === -1 ? { startIndex: at, endIndex: end } : { startIndex: open, endIndex: end + 1 };
}

/** Returns the range in which a text contains the source's URL; the whole text if it does not. */
export function citedSpan({ url }: AnswerSource, text: string): Span {
  return spanOf(url, text) ?? { startIndex: 0, endIndex: text.length };
}
