import { createHash } from 'node:crypto';
import { framesOf, textOf } from '@libs/inference/testing';
import { AppError } from '@libs/errors';
import { Cancellation, type StreamResult, frameData, joinFrames } from '@libs/inference';
import { tinyPdf } from '../parsers/testing/tiny-pdf';
import { Plugins } from './plugins';
import { answerOf, PluginBench, SEARCH_COST, PUBLIC_NAME } from './testing/plugin-bench';

const chat = (content: unknown, plugins: unknown, more: object = {}) => ({
  model: 'test/text',
  messages: [{ role: 'user', content }],
  plugins,
  ...more,
});

const userContent = (body: Record<string, unknown>): unknown =>
  (body['messages'] as { role: string; content: unknown }[]).findLast(({ role }) => role === 'user')!.content;

// Files and pages are parsed in children, whose start takes its time on a busy machine.
jest.setTimeout(60_000);

describe(Plugins.name, () => {
  let bench: PluginBench;

  beforeAll(async () => {
    bench = await PluginBench.start();
  });
  afterAll(() => bench.stop());
  beforeEach(() => {
    bench.isModerated = true;
    bench.canSearch = true;
    bench.memoryBytes = 256 * 1024 * 1024;
    bench.abort = new Cancellation();
    bench.service.requests.length = 0;
    bench.service.answer = { results: [] };
  });

  it.each([[undefined], [null], [[]], [[{ id: 'web', enabled: false }]], [[{ id: 'no-such', enabled: false }]]])(
    'does nothing for %j',
    (plugins) => {
      expect(bench.runFor('chat', chat('Hi', plugins))).toBeNull();
    },
  );

  it.each([
    [
      [{ id: 'teleport' }],
      'plugins[0].id is no plugin that is offered here; there are moderation, file-parser, web-fetch',
    ],
    [[{ id: 'web' }, { id: 'fusion' }], 'plugins[1].id is no plugin'],
    [[{}], 'plugins[0].id must be the name of a plugin'],
    [[{ id: 'response-healing' }, { id: 'response-healing' }], 'plugins[1].id names a plugin that is there twice'],
    [[{ id: 'web', enabled: 'yes' }], 'plugins[0].enabled must be true or false'],
    [[{ id: 'web', engine: 'exa' }], 'plugins[0].engine is not configured here; there are searxng'],
    [[{ id: 'web', max_results: 0 }], 'plugins[0].max_results must be'],
    [[{ id: 'web-fetch', max_uses: -1 }], 'plugins[0].max_uses must be'],
    [[{ id: 'file-parser', pdf: { engine: 'mistral-ocr' } }], 'plugins[0].pdf.engine must be one of native, pdf-text'],
    [[{ id: 'context-compression', engine: 'magic' }], 'plugins[0].engine must be one of middle-out'],
  ])('refuses %j', (plugins, message) => {
    expect(() => bench.runFor('chat', chat('Hi', plugins))).toThrow(message);
    expect(() => bench.runFor('chat', chat('Hi', plugins))).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });

  it('runs them in their own order, whatever the request says', async () => {
    bench.service.answer = { results: [{ flagged: false, url: 'https://a.example/', title: 'A', content: 'x' }] };
    const { stages } = await bench.prepare('chat', chat('Hi', [{ id: 'web' }, { id: 'moderation' }]));
    expect(stages().map(({ name }) => name)).toEqual(['moderation', 'web-search']);
  });

  it('tells a caller who left as one', async () => {
    bench.service.answer = () => bench.abort.abort();
    await expect(bench.prepare('chat', chat('Hi', [{ id: 'web' }]))).rejects.toMatchObject({ code: 'request_timeout' });
  });

  describe('web', () => {
    const found = { results: [{ url: 'https://a.example/1', title: 'One', content: 'The first.' }] };

    it('searches for the last words of the user and puts what it found in front of them', async () => {
      bench.service.answer = found;
      const messages = [
        { role: 'user', content: 'earlier' },
        { role: 'assistant', content: 'answer' },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://a.example/x.png' } },
            { type: 'text', text: 'What is\nnew?' },
          ],
        },
      ];
      const plugins = [{ id: 'web', search_prompt: 'Found:', include_domains: ['a.example'] }];
      const { body, run, stages } = await bench.prepare('chat', chat('', plugins, { messages }));
      expect(bench.service.requests[0]!.url.searchParams.get('q')).toBe('What is new? site:a.example');
      const context = 'Found:\n\n[1] One\nURL: https://a.example/1\nThe first.';
      expect((body['messages'] as object[]).slice(0, 2)).toEqual(messages.slice(0, 2));
      expect(userContent(body)).toEqual([
        { type: 'image_url', image_url: { url: 'https://a.example/x.png' } },
        { type: 'text', text: context },
        { type: 'text', text: 'What is\nnew?' },
      ]);
      expect(stages()).toEqual([
        {
          type: 'plugin',
          name: 'web-search',
          summary: 'engine=searxng, results=1',
          cost_usd: 0.004,
          data: { engine: 'searxng', results: 1 },
        },
      ]);
      expect(run.charged({ costPicoUsd: 1n, details: { attempts: [] } } as never)).toMatchObject({
        costPicoUsd: SEARCH_COST + 1n,
      });
    });

    it('has the record of a call tell of its search beside those of tools, whoever answers it', async () => {
      bench.service.answer = found;
      const { run } = await bench.prepare('chat', chat('Q', [{ id: 'web' }]));
      const failed = { costPicoUsd: 0n, details: { attempts: [] } } as never;
      expect(run.recorded(failed)).toEqual({
        costPicoUsd: 0n,
        details: { attempts: [], search: { engine: 'searxng', results: 1 } },
      });
      const searched = { costPicoUsd: 1n, details: { attempts: [], search: { engine: 'exa', results: 4 } } } as never;
      expect(run.charged(searched)).toMatchObject({ details: { search: { engine: 'searxng', results: 5 } } });
    });

    it.each([
      ['responses', { model: 'test/text', input: 'What?' }, { input: [{ role: 'user', content: expect.any(String) }] }],
      [
        'messages',
        {
          model: 'test/text',
          max_tokens: 5,
          messages: [
            { role: 'user', content: 'hm' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', tool_use_id: 't', content: 'r' },
                { type: 'text', text: 'What?' },
              ],
            },
          ],
        },
        {
          messages: [
            {},
            {},
            {
              content: [
                { type: 'tool_result' },
                { type: 'text', text: expect.stringMatching('URL:') },
                { text: 'What?' },
              ],
            },
          ],
        },
      ],
    ] as const)('does so on %s', async (api, request, expected) => {
      bench.service.answer = found;
      const { body } = await bench.prepare(api, { ...request, plugins: [{ id: 'web' }] });
      expect(body).toMatchObject(expected);
      expect(bench.service.requests[0]!.url.searchParams.get('q')).toBe('What?');
    });

    it.each([
      ['the model', { model: 'test/text:online' }],
      ['the model, among other suffixes', { model: 'test/text:online:floor' }],
      ['a model to fall back on', { models: ['test/files:online'] }],
    ])('does so for :online on %s', async (_where, named) => {
      bench.service.answer = found;
      const { body } = await bench.prepare('chat', chat('What?', undefined, named));
      expect(body).toMatchObject({ messages: [{ content: expect.stringMatching(/URL: .*What\?$/s) }] });
      expect(bench.service.requests).toHaveLength(1);
    });

    it('goes by its entry where the request has both that and :online', async () => {
      const online = { model: 'test/text:online' };
      expect(bench.runFor('chat', chat('What?', [{ id: 'web', enabled: false }], online))).toBeNull();
      await bench.prepare('chat', chat('What?', [{ id: 'web', include_domains: ['a.example'] }], online));
      expect(bench.service.requests.map(({ url }) => url.searchParams.get('q'))).toEqual(['What? site:a.example']);
    });

    it('refuses :online, which no entry asks for, under the name of the model where nothing can search', () => {
      bench.canSearch = false;
      const refused = expect.objectContaining({ code: 'invalid_request', metadata: { param: 'model' } });
      expect(() => bench.runFor('chat', chat('What?', undefined, { model: 'test/text:online' }))).toThrow(refused);
    });

    it.each([
      [
        'chat',
        {
          choices: [
            {
              message: {
                annotations: [
                  {
                    type: 'url_citation',
                    url_citation: {
                      url: 'https://a.example/1',
                      title: 'One',
                      content: 'The first.',
                      start_index: 4,
                      end_index: 30,
                    },
                  },
                ],
              },
            },
          ],
        },
      ],
      [
        'responses',
        {
          output: [
            {
              content: [
                {
                  annotations: [
                    { type: 'url_citation', url: 'https://a.example/1', title: 'One', start_index: 4, end_index: 30 },
                  ],
                },
              ],
            },
          ],
        },
      ],
      [
        'messages',
        {
          content: [
            {
              citations: [{ type: 'web_search_result_location', url: 'https://a.example/1', cited_text: 'The first.' }],
            },
          ],
        },
      ],
    ] as const)('has a whole answer on %s cite what was found, and shows its cost', async (api, expected) => {
      bench.service.answer = found;
      const turns = { messages: [{ role: 'user', content: 'Q' }] };
      const asked = { chat: turns, responses: { input: 'Q' }, messages: { ...turns, max_tokens: 5 } }[api];
      const { run } = await bench.prepare(api, { model: 'test/text', ...asked, plugins: [{ id: 'web' }] });
      const { body } = await run.finish(answerOf(api, 'See [One](https://a.example/1).'));
      expect(JSON.parse(body.toString())).toMatchObject({ ...expected, usage: { cost: 0.005 } });
    });

    it('has a stream on chat begin with what was found, and ends the upstream when nobody reads on', async () => {
      bench.service.answer = found;
      const { run } = await bench.prepare('chat', chat('Q', [{ id: 'web' }], { stream: true }));
      const first = 'data: {"choices":[]}\n\n';
      let left = 0;
      const stream = {
        outcome: new Promise(() => {}),
        async *[Symbol.asyncIterator]() {
          try {
            for (;;) yield framesOf(first);
          } finally {
            left += 1;
          }
        },
      };
      const served = { stream, model: { slug: 'test/text' }, endpoint: { provider: { name: 'Test' } } };
      const opened = run.open(served as unknown as StreamResult);
      for await (const [own, rest] of opened) {
        expect(rest!.bytes.toString()).toBe(first);
        expect(JSON.parse(String(frameData(own!)))).toMatchObject({
          id: 'gen-1',
          object: 'chat.completion.chunk',
          model: 'test/text',
          choices: [{ index: 0, delta: { content: '', annotations: [{ type: 'url_citation' }] }, finish_reason: null }],
        });
        break;
      }
      expect(left).toBe(1);
    });

    it.each([
      ['chat', 'data: {"choices":[],"usage":{"total_tokens":1,"cost":0.001}}\n\ndata: [DONE]\n\n'],
      ['responses', 'data: {"type":"response.completed","response":{"output":[],"usage":{"cost":0.001}}}\n\n'],
      ['messages', 'event: message_delta\ndata: {"type":"message_delta","usage":{"cost":0.001}}\n\n'],
    ] as const)('has a stream on %s tell what the search cost, and changes nothing else', async (api, end) => {
      bench.service.answer = found;
      const turns = { messages: [{ role: 'user', content: 'Q' }] };
      const asked = { chat: turns, responses: { input: 'Q' }, messages: { ...turns, max_tokens: 5 } }[api];
      const { run } = await bench.prepare(api, {
        model: 'test/text',
        ...asked,
        plugins: [{ id: 'web' }],
        stream: true,
      });
      const said = 'data: {"choices":[{"delta":{"content":"the \\"cost\\": 1"}}],"usage":null}\n\n';
      const stream = {
        outcome: new Promise(() => {}),
        cancel: () => undefined,
        lastWords: () => framesOf(end),
        async *[Symbol.asyncIterator]() {
          yield framesOf(said + end);
        },
      };
      const served = { stream, model: { slug: 'test/text' }, endpoint: { provider: { name: 'Test' } } };
      const opened = run.open(served as unknown as StreamResult);
      const text = await textOf(opened);
      expect(text.endsWith(said + end.replace('0.001', '0.005'))).toBe(true);
      expect(joinFrames(opened.lastWords(new AppError('server', 'Stop'))).toString()).toBe(
        end.replace('0.001', '0.005'),
      );
    });

    it('leaves the request as it is when it finds nothing, or nobody said anything', async () => {
      const request = chat('Q', [{ id: 'web' }]);
      expect((await bench.prepare('chat', request)).bytes).toBe(JSON.stringify(request));
      const silent = chat([{ type: 'image_url', image_url: { url: 'https://a.example/x.png' } }], [{ id: 'web' }]);
      const { run, stages } = await bench.prepare('chat', silent);
      expect(stages()).toEqual([]);
      expect(run.charged({ costPicoUsd: 1n, details: { attempts: [] } } as never)).toMatchObject({ costPicoUsd: 1n });
      expect(bench.service.requests).toHaveLength(1);
    });

    it('ends the request when the engine fails', async () => {
      bench.service.answer = (response) => response.writeHead(500).end();
      await expect(bench.prepare('chat', chat('Q', [{ id: 'web' }]))).rejects.toMatchObject({
        code: 'provider_unavailable',
        message: 'The search engine searxng is not available',
      });
    });
  });

  describe('web-fetch', () => {
    it('reads the pages that the user names, and tells the model of those it could not read', async () => {
      const url = bench.host.url('/a');
      const words = `Compare ${url}, (${url}) and https://10.0.0.1/x.`;
      const { body, stages } = await bench.prepare('chat', chat(words, [{ id: 'web-fetch' }]));
      const said = String(userContent(body));
      expect(said).toContain(`URL: ${url}\n\na page`);
      expect(said).toContain('URL: https://10.0.0.1/x\n\n(The page could not be read. The URL is refused');
      expect(said.endsWith(words)).toBe(true);
      expect(stages()).toMatchObject([{ type: 'plugin', name: 'web-fetch', summary: 'pages=1, failed=1' }]);
    });

    it('keeps to the domains and the number of pages of the request', async () => {
      const words = [1, 2, 3, 4].map((page) => bench.host.url(`/${page}`)).join(' ');
      const two = await bench.prepare('chat', chat(words, [{ id: 'web-fetch', max_uses: 2 }]));
      expect(two.stages()).toMatchObject([{ summary: 'pages=2, failed=0' }]);
      const none = await bench.prepare('chat', chat(words, [{ id: 'web-fetch', allowed_domains: ['a.example'] }]));
      expect(none.stages()).toMatchObject([{ summary: 'pages=0, failed=3' }]);
    });

    it('does nothing where no page is named', async () => {
      expect((await bench.prepare('chat', chat('Hello', [{ id: 'web-fetch' }]))).stages()).toEqual([]);
    });
  });

  describe('file-parser', () => {
    const pdf = (...pages: string[]): string => tinyPdf(pages).toString('base64');
    const file = (data: string, filename = 'a.pdf') => ({ type: 'file', file: { filename, file_data: data } });
    const plugins = [{ id: 'file-parser' }];
    const question = { type: 'text', text: 'What is in it?' };

    it.each([
      ['chat', file(`data:application/pdf;base64,${pdf('Hello', 'World')}`), 'text'],
      ['chat', file(pdf('Hello', 'World')), 'text'],
      [
        'responses',
        { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf('Hello', 'World')}` },
        'input_text',
      ],
      [
        'messages',
        {
          type: 'document',
          title: 'a.pdf',
          source: { type: 'base64', media_type: 'application/pdf', data: pdf('Hello', 'World') },
        },
        'text',
      ],
    ] as const)('puts the text in the place of a PDF file on %s', async (api, part, type) => {
      const turns = [
        { role: 'user', content: [part, api === 'responses' ? { ...question, type: 'input_text' } : question] },
      ];
      const asked = api === 'responses' ? { input: turns } : { messages: turns, max_tokens: 5 };
      const { body, stages } = await bench.prepare(api, { model: 'test/text', ...asked, plugins });
      const [turn] = (body['input'] ?? body['messages']) as { content: object[] }[];
      expect(turn!.content[0]).toEqual({ type, text: '<file name="a.pdf">\nHello\n\nWorld\n</file>' });
      expect(stages()).toMatchObject([{ type: 'plugin', name: 'file-parser', data: { engine: 'pdf-text', files: 1 } }]);
    });

    const annotationOf = (bytes: Buffer, text: string) => ({
      type: 'file',
      file: {
        hash: createHash('sha256').update(bytes).digest('hex'),
        name: 'a.pdf',
        content: [{ type: 'text', text }],
      },
    });

    it('gives callers of chat the text of the files', async () => {
      const bytes = tinyPdf(['Hello']);
      const { run } = await bench.prepare('chat', chat([file(bytes.toString('base64')), question], plugins));
      const answer = await run.finish(answerOf('chat', 'Read.'));
      const { choices } = JSON.parse(answer.body.toString()) as { choices: { message: object }[] };
      expect(choices[0]!.message).toMatchObject({ annotations: [annotationOf(bytes, 'Hello')] });
    });

    it('gives no other API the text of files', async () => {
      const part = { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf('Hello')}` };
      const input = [{ role: 'user', content: [part] }];
      const { run } = await bench.prepare('responses', { model: 'test/text', input, plugins });
      const answer = answerOf('responses', 'Read.');
      expect((await run.finish(answer)).body.equals(answer.body)).toBe(true);
    });

    it('reads no file again whose text the caller sends back, and sends that to no provider', async () => {
      const [first, second] = [tinyPdf(['Hello']), tinyPdf(['World'])];
      const cited = { type: 'url_citation', url_citation: { url: 'https://a.example/', title: 'A' } };
      const said = { role: 'assistant', content: 'Read.' };
      const messages = [
        { role: 'user', content: [file(first.toString('base64')), file(second.toString('base64'))] },
        { ...said, annotations: [annotationOf(first, 'As it was read'), cited] },
        { ...said, annotations: [annotationOf(Buffer.from('another'), 'Another')] },
        { role: 'user', content: 'And?' },
      ];
      const { body, run } = await bench.prepare('chat', { model: 'test/text', messages, plugins });
      expect(body['messages']).toEqual([
        {
          role: 'user',
          content: [
            { type: 'text', text: '<file name="a.pdf">\nAs it was read\n</file>' },
            { type: 'text', text: '<file name="a.pdf">\nWorld\n</file>' },
          ],
        },
        { ...said, annotations: [cited] },
        said,
        messages[3],
      ]);
      const answer = JSON.parse((await run.finish(answerOf('chat', 'Yes.'))).body.toString()) as {
        choices: { message: { annotations: object[] } }[];
      };
      expect(answer.choices[0]!.message.annotations).toEqual([
        annotationOf(first, 'As it was read'),
        annotationOf(second, 'World'),
      ]);
    });

    it('tells the model of a file that is longer than what is read of one', async () => {
      const long = pdf(...Array.from({ length: 201 }, (_, page) => `p${page}`));
      const { body } = await bench.prepare('chat', chat([file(long)], plugins));
      const [part] = userContent(body) as { text: string }[];
      expect(part!.text).toContain('p199\n\n(The rest of the file is left out.)\n</file>');
    });

    it('fetches a file by its URL, and reads text files as they are', async () => {
      bench.host.answerWith((_request, response) =>
        response.writeHead(200, { 'content-type': 'text/csv' }).end('a,b\n1,2'),
      );
      const content = [
        file(bench.host.url('/t.csv', PUBLIC_NAME), 't.csv'),
        file(`data:application/octet-stream;base64,${Buffer.from('# Hi').toString('base64')}`, 'x".md'),
      ];
      const { body } = await bench.prepare('chat', chat(content, plugins));
      expect(userContent(body)).toEqual([
        { type: 'text', text: '<file name="t.csv">\na,b\n1,2\n</file>' },
        { type: 'text', text: '<file name="x_.md">\n# Hi\n</file>' },
      ]);
    });

    it('reads no file for which there is no memory, and says by its place when to come again', async () => {
      bench.host.answerWith((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/csv' }).end(Buffer.alloc(3 * 1024 * 1024, 'x'));
      });
      const content = [file(bench.host.url('/t.csv', PUBLIC_NAME), 't.csv')];
      bench.memoryBytes = 8 * 1024 * 1024;
      await expect(bench.prepare('chat', chat(content, plugins))).rejects.toMatchObject({
        code: 'provider_overloaded',
        message: 'messages[0].content[0]: The service is overloaded',
        retryAfterSeconds: 1,
      });
      expect(bench.reservedBytes).toBe(0);
    });

    it('counts the texts of files until the request is over', async () => {
      const text = Buffer.from('# A text').toString('base64');
      await bench.prepare('chat', chat([file(text, 'a.md'), file(pdf('Hello'))], plugins));
      expect(bench.reservedBytes).toBeGreaterThan(0);
      expect(bench.reservedBytes).toBeLessThan(1_000);
    });

    it('counts a text by its length in JSON, and on chat once more for the answer', async () => {
      const text = '\u0001'.repeat(100_000);
      const data = `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
      const input = [{ role: 'user', content: [{ type: 'input_file', filename: 'a.txt', file_data: data }] }];
      await bench.prepare('responses', { model: 'test/text', input, plugins });
      const inPrompt = bench.reservedBytes;
      expect(inPrompt).toBeGreaterThan(3 * JSON.stringify(text).length);
      await bench.prepare('chat', chat([file(data, 'a.txt')], plugins));
      expect(bench.reservedBytes).toBe(2 * inPrompt);
    });

    it.each(['pdf-text', 'cloudflare-ai'])(
      'leaves files to a model that reads them, unless %s is to',
      async (engine) => {
        const request = { ...chat([file(pdf('x'))], plugins), model: 'test/files' };
        expect((await bench.prepare('chat', request)).bytes).toBe(JSON.stringify(request));
        const parsed = { ...request, plugins: [{ id: 'file-parser', pdf: { engine } }] };
        expect((await bench.prepare('chat', parsed)).stages()).toHaveLength(1);
        const native = chat([file(pdf('x'))], [{ id: 'file-parser', pdf: { engine: 'native' } }]);
        expect((await bench.prepare('chat', native)).bytes).toBe(JSON.stringify(native));
      },
    );

    it.each([
      [file('data:application/pdf;base64,AAAA'), 'messages[0].content[0]: The file is neither a PDF nor text'],
      [file(Buffer.from('%PDF-1.4 nothing').toString('base64')), 'messages[0].content[0]: The PDF file cannot be read'],
      [file('https://10.0.0.1/a.pdf'), 'messages[0].content[0].file.file_data must be on a public host'],
      [file('https://a.example/a.pdf#page'), 'messages[0].content[0]: The URL of the file is refused'],
      [file('data:image/png;base64,iVBORw0KGgo='), 'messages[0].content[0]: The file is neither a PDF nor text'],
    ])('refuses what it cannot read, by its place', async (part, message) => {
      await expect(bench.prepare('chat', chat([part], plugins))).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(message),
      });
    });
  });

  describe('response-healing', () => {
    const plugins = [{ id: 'response-healing' }];
    const wish = { response_format: { type: 'json_object' } };
    const heal = async (text: string, more: object = wish) => {
      const { run, stages } = await bench.prepare('chat', chat('Q', plugins, more));
      const answer = answerOf('chat', text);
      const { body } = await run.finish(answer);
      const { choices } = JSON.parse(body.toString()) as { choices: { message: { content: string } }[] };
      return { said: choices[0]!.message.content, isSame: body.equals(answer.body), stages: stages() };
    };

    it.each([
      ['```json\n{"a": 1}\n```', { a: 1 }],
      ['```\n{"a": [1, 2,\n```', { a: [1, 2] }],
      ['```json\n{"a": 1', { a: 1 }],
      ['{"a": 1,}', { a: 1 }],
      ["{a: 'x', b: [1, 2", { a: 'x', b: [1, 2] }],
    ])('repairs %j', async (text, value) => {
      const { said, stages } = await heal(text);
      expect(JSON.parse(said)).toEqual(value);
      expect(stages).toEqual([
        { type: 'response_healing', name: 'response-healing', summary: 'healed=1', data: { healed: 1 } },
      ]);
    });

    it.each(['{"a" :1.0}', ' [1 ]\n', '"text"', '```\n"text"\n```', 'I cannot do that.', ''])(
      'leaves %j alone',
      async (text) => {
        expect(await heal(text)).toEqual({ said: text, isSame: true, stages: [] });
      },
    );

    it('leaves alone what would take too long, and holds up nobody meanwhile', async () => {
      const text = `[${'{'.repeat(300_000)}`;
      let turns = 0;
      const counting = setInterval(() => (turns += 1), 1);
      expect((await heal(text)).isSame).toBe(true);
      clearInterval(counting);
      expect(turns).toBeGreaterThan(10);
    });

    it('leaves answers alone that were not to be JSON', async () => {
      expect((await heal('{"a":1,}', {})).isSame).toBe(true);
      expect((await heal('{"a":1,}', { response_format: { type: 'text' } })).isSame).toBe(true);
    });

    it.each(['output_format', 'output_config', 'text'])(
      'takes %s of any form, which may be for another API',
      async (name) => {
        for (const text of ['{"toString":1}', '[{"toString":1}]', 'null', '1']) {
          const type: unknown = JSON.parse(text);
          const more = { [name]: name === 'output_format' ? { type } : { format: { type } } };
          expect((await heal('{"a":1,}', more)).isSame).toBe(true);
        }
      },
    );

    it.each([
      ['responses', { input: 'Q', text: { format: { type: 'json_schema', name: 'x', schema: {} } } }],
      [
        'messages',
        {
          messages: [{ role: 'user', content: 'Q' }],
          max_tokens: 5,
          output_config: { format: { type: 'json_schema', schema: {} } },
        },
      ],
    ] as const)('does so on %s', async (api, asked) => {
      const { run } = await bench.prepare(api, { model: 'test/text', ...asked, plugins });
      expect((await run.finish(answerOf(api, '{"a":1,}'))).body.toString()).toContain('"text":"{\\"a\\":1}"');
    });
  });

  describe('moderation', () => {
    const plugins = [{ id: 'moderation' }];
    const verdicts = (...flagged: boolean[]) => ({
      results: flagged.map((isSo) => ({ flagged: isSo, categories: { violence: isSo, hate: false } })),
    });

    it('has all that the model is told judged', async () => {
      bench.service.answer = verdicts(false, false, false);
      const messages = [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
        { role: 'user', content: 'World' },
      ];
      const { stages, bytes } = await bench.prepare('chat', chat('', plugins, { messages }));
      expect(bench.service.requests).toMatchObject([
        {
          method: 'POST',
          headers: { authorization: 'Bearer service-key' },
          body: { model: 'judge', input: ['Be kind.', 'Hello', 'World'] },
        },
      ]);
      expect(bytes).toBe(JSON.stringify(chat('', plugins, { messages })));
      expect(stages()).toMatchObject([{ type: 'guardrail', name: 'moderation' }]);
    });

    it('refuses what is flagged', async () => {
      bench.service.answer = verdicts(false, true);
      const bad = `bad ${'x'.repeat(300)} words`;
      const messages = [
        { role: 'user', content: 'fine' },
        { role: 'user', content: bad },
      ];
      const error = await bench.prepare('chat', chat('', plugins, { messages })).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'permission_denied',
        status: 403,
        metadata: { reasons: ['violence'], model_slug: 'test/text', provider_name: 'moderation service' },
      });
      const { flagged_input: shown } = (error as { metadata: { flagged_input: string } }).metadata;
      expect(shown).toHaveLength(100);
      expect(shown).toMatch(/^bad x+\.\.\.x+ words$/);
    });

    it.each([[{}], [{ results: [] }], [{ results: [{}] }], [{ results: [{ flagged: 'no' }] }]])(
      'lets nothing through on the verdict %j',
      async (answer) => {
        bench.service.answer = answer;
        await expect(bench.prepare('chat', chat('Q', plugins))).rejects.toMatchObject({ code: 'provider_unavailable' });
      },
    );

    it('is refused where no service is configured', () => {
      bench.isModerated = false;
      expect(() => bench.runFor('chat', chat('Q', plugins))).toThrow(
        'plugins[0].id asks for moderation, for which no service is configured here',
      );
    });
  });
});
