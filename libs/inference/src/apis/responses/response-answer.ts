import { elementsOf } from '@libs/json';
import { citedSpan, type AnswerSource } from '../answer-source';
import { textPlace, type AnswerView } from '../answer-view';

export function responseSource(source: AnswerSource, text = ''): object {
  const { startIndex, endIndex } = citedSpan(source, text);
  return { type: 'url_citation', url: source.url, title: source.title, start_index: startIndex, end_index: endIndex };
}

export const responseAnswer: AnswerView = {
  member: 'output',
  textsOf: (items) =>
    items
      .filter(({ type }) => type === 'message')
      .flatMap(({ content }) => elementsOf(content).filter(({ type }) => type === 'output_text'))
      .flatMap((part) => textPlace(part, 'text')),
  citationsMember: 'annotations',
  writeSource: responseSource,
};
