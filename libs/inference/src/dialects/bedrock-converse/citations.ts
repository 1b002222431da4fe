import { objectOf, objectsOf, stringOf } from '@libs/json';
import type { Annotation } from '../../model/conversation';

/**
 * Reads a citation of a web page, which applies to its whole text of `length`. Other kinds of citations have no URL.
 */
export function readCitation(citation: unknown, length: number): Annotation[] {
  const { title, location, sourceContent } = objectOf(citation);
  const url = stringOf(objectOf(objectOf(location)['web'])['url']);
  if (url === undefined) return [];
  const content = objectsOf(sourceContent)
    .map(({ text }) => stringOf(text) ?? '')
    .join('');
  return [
    {
      type: 'url-citation',
      url,
      title: stringOf(title) ?? '',
      startIndex: 0,
      endIndex: length,
      ...(content !== '' && { content }),
    },
  ];
}
