import { findBodyLinkProblem } from './body-links';
import { linkHeadOf, parseLink } from './link-head';
import { findMediaLinkProblem } from './media-links';

/** So many different characters, for which parsers of URLs need a time that grows with the square of their number. */
const name = (length: number, from = 0): string =>
  Array.from({ length }, (_, index) => String.fromCodePoint(0x4e00 + (((from + index) * 7_919) % 20_000))).join('');

const LONG = `http://${name(5_000)}.com/`;
/** The longest names that there can be. */
const LONGEST = `http://${[0, 1, 2, 3].map((from) => name(61, from * 61)).join('.')}.com/`;

/** Returns milliseconds of processor time, which other work on the machine does not change. */
function msOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1_000;
}

describe(linkHeadOf.name, () => {
  it.each([
    ['https://acme.example/a?b#c', 'https', 'acme.example'],
    [' \u0001HTTPS:\\\\user:pass@acme.example:8080\\x', 'https', 'acme.example'],
    ['ht\ntp:acme.example', 'http', 'acme.example'],
    [`${' '.repeat(200)}https:////acme.example`, 'https', 'acme.example'],
    ['https://a@b@acme.example?@x', 'https', 'acme.example'],
    ['gs://bucket/object', 'gs', 'bucket'],
    ['gs:bucket', 'gs', ''],
    ['urn:acme:x', 'urn', ''],
  ])('reads %j', (link, scheme, host) => {
    expect(linkHeadOf(link)).toMatchObject({ scheme, host });
  });

  it.each(['', 'a text', '/a/b:c', '1http://acme.example'])('finds no scheme in %j', (text) => {
    expect(linkHeadOf(text)).toBeNull();
  });
});

describe(parseLink.name, () => {
  it.each([
    `http://${'a'.repeat(64)}.com/`,
    `http://${'a.'.repeat(130)}com/`,
    `http://${name(64)}.com/`,
    'http://acme%2eexample/',
    LONG,
    `http://${encodeURIComponent(name(800))}.com/`,
    `https://${'a'.repeat(10_000)}@acme.example/`,
  ])('takes no name that cannot be, nor one that is read in two ways', (link) => {
    expect(parseLink(link)).toBeNull();
  });

  it.each([`https://${'a'.repeat(63)}.com/`, 'https://bücher.example/', `https://${name(12)}.example/x`, LONGEST])(
    'takes every name that can be',
    (link) => {
      expect(parseLink(link)?.href).toBe(new URL(link).href);
    },
  );
});

describe('a link with a long host', () => {
  it.each(['image_url', 'server_url', 'file_id', 'later'])('is refused at once in %s', (member) => {
    expect(msOf(() => expect(findBodyLinkProblem({ [member]: LONG })?.what).toBe(' must be a URL'))).toBeLessThan(50);
    expect(findBodyLinkProblem({ [member]: `http://${name(64)}.com/ and more` })?.what).toBe(' must be a URL');
  });

  it('is refused before any parser, where the body is not looked through', () => {
    expect(msOf(() => expect(findMediaLinkProblem(LONG)).toBe(' must be a URL'))).toBeLessThan(50);
  });

  it('is text with a blank in its host', () => {
    expect(findBodyLinkProblem({ later: `https://${name(300)} ${name(300)}` })).toBeNull();
  });
});

describe('a text', () => {
  it.each([
    ['a file on a host with a long name', LONG.replace('http', 'file')],
    ['blanks', ' '.repeat(10_000_000)],
    ['wide blanks and a link', `${'\u00a0'.repeat(5_000_000)}${LONG}`],
    ['one long word', 'a'.repeat(10_000_000)],
    ['one long scheme', `${'a'.repeat(10_000_000)}:`],
    ['slashes', `https:${'/'.repeat(10_000_000)}`],
    ['colons', `https://${':'.repeat(10_000_000)}`],
    ['credentials', `https://${'a@'.repeat(5_000_000)}`],
    ['cloud storage', `gs://${'b'.repeat(10_000_000)}`],
  ])('is looked at in a time in proportion to its length: %s', (_kind, text) => {
    expect(msOf(() => findBodyLinkProblem({ later: text, url: text }))).toBeLessThan(1_000);
  });
});

describe('the links of one body', () => {
  it('are bounded by the work that they make', () => {
    const links = Array.from({ length: 10_000 }, () => LONGEST);
    const found = { what: '' };
    expect(msOf(() => Object.assign(found, findBodyLinkProblem({ links })))).toBeLessThan(500);
    expect(found).toEqual({ path: expect.stringMatching(/^links\[\d+\]$/), what: expect.stringContaining('number') });
  });

  it('may be thousands to ordinary hosts', () => {
    const links = Array.from({ length: 20_000 }, (_, index) => `https://acme.example/${index}`);
    expect(findBodyLinkProblem({ links, url: links })).toBeNull();
  });
});
