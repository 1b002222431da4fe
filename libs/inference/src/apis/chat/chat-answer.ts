import { objectOf } from '@libs/json';
import { citedSpan, type AnswerSource } from '../answer-source';
import { textPlace, type AnswerView } from '../answer-view';

export function chatSource(source: AnswerSource, text = ''): object {
  const { startIndex, endIndex } = citedSpan(source, text);
  const { url, title, content } = source;
  const cited = { url, title, ...(content !== undefined && { content }), start_index: startIndex, end_index: endIndex };
  return { type: 'url_citation', url_citation: cited };
}

export const chatAnswer: AnswerView = {
  member: 'choices',
  textsOf: (choices) => choices.flatMap(({ message }) => textPlace(objectOf(message), 'content')),
  citationsMember: 'annotations',
  writeSource: chatSource,
};
