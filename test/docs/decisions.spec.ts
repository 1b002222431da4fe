import { basename } from 'node:path';
import { filesLike, headingsOf, readMarkdown, sectionOf } from './markdown';

const PARTS = ['Context', 'Decision', 'Consequences', 'Alternatives'];
const WORDS_ON_A_PAGE = 500;

const decisions = filesLike('docs/adr/*.md').map(readMarkdown);

describe('the decision records', () => {
  it('are numbered from 0001 without a gap', () => {
    const numbers = decisions.map(({ path }) => /^(\d{4})-[a-z0-9-]+\.md$/.exec(basename(path))?.[1]);
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers).toEqual(decisions.map((_, index) => String(index + 1).padStart(4, '0')));
  });

  it.each(decisions)('have the four parts: $path', (decision) => {
    expect(headingsOf(decision, 2)).toEqual(PARTS);
    for (const part of PARTS) expect(sectionOf(decision, part).split(/\s+/).length).toBeGreaterThan(20);
  });

  it.each(decisions)('have a numbered title and a date: $path', ({ path, text }) => {
    const [, number, date = ''] = /^# (\d+)\. .+\n\nDate: (\d{4}-\d\d-\d\d)\n/.exec(text) ?? [];
    expect(number).toBe(String(Number(basename(path).slice(0, 4))));
    expect(new Date(date).toISOString().slice(0, 10)).toBe(date);
  });

  it.each(decisions)('fit on one page: $path', ({ text }) => {
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(WORDS_ON_A_PAGE);
  });
});
