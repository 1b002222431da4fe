import type { AnswerSource } from '../answer-source';
import { textPlace, type AnswerView } from '../answer-view';

export function messageSource({ url, title, content }: AnswerSource): object {
  return { type: 'web_search_result_location', url, title, cited_text: content ?? '', encrypted_index: '' };
}

export const messageAnswer: AnswerView = {
  member: 'content',
  textsOf: (blocks) => blocks.filter(({ type }) => type === 'text').flatMap((block) => textPlace(block, 'text')),
  citationsMember: 'citations',
  writeSource: messageSource,
};
