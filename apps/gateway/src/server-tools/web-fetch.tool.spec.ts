import type { RequestListener } from 'node:http';
import { Egress } from '@libs/platform';
import { HttpsHost, selfSignedCertificate } from '@libs/platform/testing';
import { HtmlReader } from '../parsers/html-reader';
import { ParserPool } from '../parsers/parser-pool';
import { PdfReader, type PdfLimits } from '../parsers/pdf-reader';
import { outsideWork } from '../parsers/testing/outside-work';
import { tinyPdf } from '../parsers/testing/tiny-pdf';
import type { ToolContext } from './server-tool';
import { PageReader } from './web-fetch-pages/page-reader';
import { WebFetchTool } from './web-fetch.tool';

const HTML = `<!doctype html><html><head><meta charset=utf-8><title> The  page &amp; more </title>
<style>p{color:red}</style><script>alert("hidden")</script>
<body><nav><a href="#top">top</a> <a href="/next?a=1">Next</a></nav><noscript>hidden</noscript>
<h1>Heading</h1><p>A <b>bold</b>
 word &lt;tag&gt; caf&eacute;.<br>Next line<ul><li>one<li>two</ul>
<a href="javascript:alert(1)">bad</a><a href="x"></a><template>hidden</template>
<table><tr><th>a<th>b<tr><td>1<td>2</table><pre>  x
    y</pre><svg><title>hidden</title></svg>`;

const TEXT = `top [Next](https://127.0.0.1:PORT/next?a=1)

# Heading

A bold word <tag> café.
Next line

- one
- two

bad

| a | b
| 1 | 2

  x
    y`;

// Files and pages are parsed in children, whose start takes its time on a busy machine.
jest.setTimeout(60_000);

describe(WebFetchTool.name, () => {
  const parsers = new ParserPool();
  let host: HttpsHost;

  beforeAll(async () => {
    host = await HttpsHost.start(() => {}, selfSignedCertificate(['127.0.0.1', 'good.test', 'bad.test']));
  });
  afterAll(async () => {
    await host.stop();
    await parsers.onApplicationShutdown();
  });

  const serves = (type: string, body: string | Buffer): void =>
    host.answerWith((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
  const redirects =
    (location: string): RequestListener =>
    (request, response) =>
      request.url === '/first' ? response.writeHead(301, { location }).end() : response.end('last');

  function tool(parameters: object = {}, limits: Partial<PdfLimits> = {}, pool = parsers) {
    const egress = new Egress({
      allowCidrs: ['127.0.0.0/8'],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      certificateAuthorities: host.certificate,
    });
    const pages = new PageReader(egress, new PdfReader(pool, limits), new HtmlReader(pool), 'test-agent');
    return new WebFetchTool(pages, 'sluice').bind(parameters as Record<string, unknown>, 'tools[0].parameters');
  }

  const run = (url: unknown, bound = tool(), signal = new AbortController().signal) =>
    bound.run({ url }, outsideWork({ signal }) as unknown as ToolContext);

  it('reads a page as text with its title, headings, lists and links', async () => {
    serves('text/html; charset=utf-8', HTML);
    const outcome = await run(host.url('/a#part'));
    const content = TEXT.replace('PORT', String(host.port));
    expect(outcome.item).toEqual({ url: host.url('/a'), title: 'The page & more', content, httpStatus: 200 });
    expect(outcome.parts).toEqual([
      { type: 'text', text: `Title: The page & more\nURL: ${host.url('/a')}\n\n${content}` },
    ]);
    expect(outcome.sources).toEqual([{ type: 'url-citation', url: host.url('/a'), title: 'The page & more' }]);
    expect(outcome.costPicoUsd).toBe(0n);
    expect(host.requests.at(-1)!.headers['user-agent']).toBe('test-agent');
  });

  it('follows only links of the caller where there are only these', async () => {
    serves('text/plain', 'A text.');
    const work = { ...outsideWork(), callerLinks: new Set([host.url('/a')]) } as unknown as ToolContext;
    const asked = host.requests.length;
    expect(await tool().run({ url: host.url('/a?words=secret') }, work)).toMatchObject({ isError: true });
    expect(host.requests).toHaveLength(asked);
    expect(await tool().run({ url: host.url('/a') }, work)).toMatchObject({ isError: false });
  });

  it('reads the text of a PDF file', async () => {
    serves('application/pdf', tinyPdf(['First page', 'Second page']));
    expect((await run(host.url())).item).toMatchObject({ title: 'A title', content: 'First page\n\nSecond page' });
  });

  it('reads no more of a PDF file than it may', async () => {
    serves('application/pdf', tinyPdf(['First page', 'Second page', 'Third page']));
    const two = await run(host.url(), tool({}, { maxPages: 2 }));
    expect(two.item).toMatchObject({ content: 'First page\n\nSecond page' });
    expect(two.parts[0]).toMatchObject({ text: expect.stringContaining('The rest of the page is left out') });
    const slow = await run(host.url(), tool({}, { timeoutMs: 0 }));
    expect(slow).toMatchObject({
      isError: true,
      item: { error: 'The PDF file cannot be read: it takes too long to read' },
    });
    const broken = tinyPdf(['x']).subarray(0, 40);
    serves('application/pdf', broken);
    expect((await run(host.url())).item['error']).toBe(
      'The PDF file cannot be read: it is damaged, or protected by a password',
    );
  });

  it('refuses PDF files beyond those that may wait, and reads the others one after another', async () => {
    serves('application/pdf', tinyPdf(['x']));
    const small = new ParserPool({ maxProcesses: 1, maxWaiting: 1, maxWaitMs: 60_000 });
    const bound = tool({}, {}, small);
    const outcomes = await Promise.all([1, 2, 3].map(() => run(host.url(), bound)));
    expect(outcomes.filter(({ isError }) => isError)).toMatchObject([
      { item: { error: 'Too many PDF files are being read' } },
    ]);
    await small.onApplicationShutdown();
  });

  it.each([
    ['text/plain; charset=iso-8859-1', Buffer.from('caf\u00e9', 'latin1'), 'café'],
    ['text/plain; charset=nonsense', Buffer.from('café'), 'café'],
    ['application/json', Buffer.from('{"a":1}'), '{"a":1}'],
    ['application/ld+json', Buffer.from('{}'), '{}'],
    ['text/html', Buffer.from('<meta charset="iso-8859-1"><p>caf\u00e9', 'latin1'), 'café'],
  ])('reads %s', async (type, body, content) => {
    serves(type, body);
    expect((await run(host.url())).item).toMatchObject({ content });
  });

  it('cuts what is longer than asked for, and says so to the model', async () => {
    serves('text/plain', 'abcdefgh'.repeat(10));
    const outcome = await run(host.url(), tool({ max_content_tokens: 2 }));
    expect(outcome.item).toMatchObject({ content: 'abcdefgh' });
    expect(outcome.parts[0]).toMatchObject({ text: expect.stringContaining('The rest of the page is left out') });
  });

  it('says so too of a page of which only the beginning is read', async () => {
    serves('text/html', `<p>beginning</p><!--${'x'.repeat(1_000_000)}--><p>end</p>`);
    const { item, parts } = await run(host.url());
    expect(item).toMatchObject({ content: 'beginning' });
    expect(parts[0]).toMatchObject({ text: expect.stringContaining('The rest of the page is left out') });
  });

  it('reads a page that is nested beyond reason up to there', async () => {
    serves('text/html', `<p>before</p>${'<div>'.repeat(100_000)}deep`);
    expect((await run(host.url())).item['content']).toBe('before');
  });

  it.each([
    ['image/png', 'The page cannot be read: its content is no text'],
    ['application/octet-stream', 'The page cannot be read: its content is no text'],
  ])('cannot read %s', async (type, error) => {
    serves(type, 'x');
    expect(await run(host.url())).toMatchObject({ isError: true, item: { url: host.url(), error } });
  });

  it('tells of a page that is not there', async () => {
    host.answerWith((_request, response) => response.writeHead(404).end('nothing'));
    expect(await run(host.url('/gone'))).toMatchObject({
      isError: true,
      item: { url: host.url('/gone'), httpStatus: 404, error: 'The server answered with status 404' },
    });
  });

  it('keeps to the domains of the request on every hop', async () => {
    const bound = tool({ allowed_domains: ['good.test'], blocked_domains: ['good.test/secret'] });
    host.answerWith(redirects('/last'));
    expect((await run(host.url('/first', 'good.test'), bound)).item).toMatchObject({
      url: host.url('/last', 'good.test'),
      content: 'last',
    });
    const asked = host.requests.length;
    for (const location of [host.url('/', 'bad.test'), '/secret/1']) {
      host.answerWith(redirects(location));
      expect((await run(host.url('/first', 'good.test'), bound)).item['error']).toBe(
        'The URL is refused: its domain is not allowed',
      );
    }
    expect((await run(host.url('/', 'bad.test'), bound)).isError).toBe(true);
    expect(host.requests).toHaveLength(asked + 2);
  });

  it('goes nowhere that the egress door is closed to', async () => {
    for (const url of ['https://10.0.0.1/', 'file:///etc/passwd', 'no url', 'https://a:b@good.test/', '']) {
      expect(await run(url)).toMatchObject({ isError: true, costPicoUsd: 0n });
    }
    expect((await run(5)).parts).toEqual([{ type: 'text', text: 'The argument url must be a text.' }]);
  });

  it('keeps to its number of uses', async () => {
    serves('text/plain', 'x');
    const bound = tool({ max_uses: 1 });
    expect((await run(host.url(), bound)).isError).toBe(false);
    expect((await run(host.url(), bound)).isError).toBe(true);
  });

  it('ends at once when nobody waits', async () => {
    const caller = new AbortController();
    host.answerWith(() => caller.abort(new Error('left')));
    await expect(run(host.url(), tool(), caller.signal)).rejects.toThrow('left');
  });

  it.each([
    [{ engine: 'exa' }, 'tools[0].parameters.engine is not configured here; there are auto, sluice'],
    [{ max_content_tokens: 0 }, 'tools[0].parameters.max_content_tokens must be'],
    [{ blocked_domains: [5] }, 'tools[0].parameters.blocked_domains[0] must be a domain'],
  ])('refuses %j', (parameters, message) => {
    expect(() => tool(parameters)).toThrow(message);
  });
});
