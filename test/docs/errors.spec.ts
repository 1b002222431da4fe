import { ERROR_CODES, isErrorCode, wireErrorType, type ErrorCode } from '@libs/errors';
import { AVAILABILITY_CODES } from '@libs/inference';
import { readMarkdown, tableRowsOf } from './markdown';

const rows = tableRowsOf(readMarkdown('docs/errors.md').prose);
const codes = Object.keys(ERROR_CODES) as ErrorCode[];

describe('docs/errors.md', () => {
  it('lists the codes of the table in its order, and nothing else', () => {
    expect(rows.map(([code]) => code)).toEqual(codes.map((code) => `\`${code}\``));
  });

  it.each(codes)('says of %s what the table says', (code) => {
    const [, status, retry, type] = rows.find(([cell]) => cell === `\`${code}\``) ?? [];
    const entry = ERROR_CODES[code];
    const wireType = wireErrorType(code);
    expect({ status, retry, type }).toEqual({
      status: String(entry.status),
      retry: entry.retryable ? 'yes' : 'no',
      type: wireType === code ? 'same' : `\`${wireType}\``,
    });
  });

  it.each(rows)('says when %s comes', (_code, _status, _retry, _type, when) => {
    expect(when).toMatch(/\w+ \w+/);
  });

  it('has a heading where each availability code links to, and no other', () => {
    const { text } = readMarkdown('docs/errors.md');
    expect([...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)).toEqual([...AVAILABILITY_CODES]);
  });

  it('shows an example that the table allows', () => {
    const example = /```json\n(.+)\n```/.exec(readMarkdown('docs/errors.md').text)?.[1] ?? '';
    const { error } = JSON.parse(example) as { error: { code: number; metadata: { error_type: string } } };
    const { error_type: type } = error.metadata;
    expect(isErrorCode(type) && ERROR_CODES[type].status).toBe(error.code);
  });
});
