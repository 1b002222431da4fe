import fc from 'fast-check';
import { findBodyLinkProblem } from './body-links';
import { findMediaLinkProblem } from './media-links';

type Body = Readonly<Record<string, unknown>>;

function problemOf(body: object): string | null {
  const found = findBodyLinkProblem(body as Body);
  return found === null ? null : `${found.path}${found.what}`;
}

const user = (...content: object[]): object => ({ role: 'user', content });
const chat = (part: object): object => ({ model: 'a', messages: [user({ type: 'text', text: 'x' }, part)] });
const messages = chat;
const responses = (part: object): object => ({ model: 'a', input: [user({ type: 'input_text', text: 'x' }, part)] });
const said = (message: object): object => ({ messages: [user(), { role: 'assistant', content: 'x', ...message }] });
const item = (one: object): object => ({ input: [one] });

/** Each place at which a body holds a link: the request with that link in it, and the path. */
const PLACES: readonly (readonly [place: string, request: (link: string) => object, path: string])[] = [
  ['chat image', (url) => chat({ type: 'image_url', image_url: { url } }), 'messages[0].content[1].image_url.url'],
  ['chat image text', (url) => chat({ type: 'image_url', image_url: url }), 'messages[0].content[1].image_url'],
  ['chat video', (url) => chat({ type: 'video_url', video_url: { url } }), 'messages[0].content[1].video_url.url'],
  ['chat file', (url) => chat({ type: 'file', file: { file_data: url } }), 'messages[0].content[1].file.file_data'],
  ['chat file id', (url) => chat({ type: 'file', file: { file_id: url } }), 'messages[0].content[1].file.file_id'],
  [
    'chat audio',
    (data) => chat({ type: 'input_audio', input_audio: { data, format: 'mp3' } }),
    'messages[0].content[1].input_audio.data',
  ],
  [
    'messages image',
    (url) => messages({ type: 'image', source: { type: 'url', url } }),
    'messages[0].content[1].source.url',
  ],
  [
    'messages document',
    (url) => messages({ type: 'document', source: { type: 'url', url } }),
    'messages[0].content[1].source.url',
  ],
  [
    'messages document of blocks',
    (url) =>
      messages({
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url } }] },
      }),
    'messages[0].content[1].source.content[0].source.url',
  ],
  [
    'messages tool result',
    (url) =>
      messages({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: { type: 'url', url } }] }),
    'messages[0].content[1].content[0].source.url',
  ],
  [
    'messages file id',
    (url) => messages({ type: 'document', source: { type: 'file', file_id: url } }),
    'messages[0].content[1].source.file_id',
  ],
  ['responses image', (url) => responses({ type: 'input_image', image_url: url }), 'input[0].content[1].image_url'],
  ['responses file', (url) => responses({ type: 'input_file', file_url: url }), 'input[0].content[1].file_url'],
  ['responses file id', (url) => responses({ type: 'input_file', file_id: url }), 'input[0].content[1].file_id'],
  ['responses video', (url) => responses({ type: 'input_video', video_url: url }), 'input[0].content[1].video_url'],
  [
    'responses screenshot',
    (url) => ({
      input: [{ type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: url } }],
    }),
    'input[0].output.image_url',
  ],
  [
    'embeddings image',
    (url) => ({
      model: 'a',
      input: [{ content: [{ type: 'image_url', image_url: { url } }] }],
    }),
    'input[0].content[0].image_url.url',
  ],
  [
    'chat images of an answer',
    (url) => said({ images: [{ type: 'image_url', image_url: { url } }] }),
    'messages[1].images[0].image_url.url',
  ],
  ['chat file URI', (fileUri) => chat({ type: 'file', file: { fileUri } }), 'messages[0].content[1].file.fileUri'],
  ['chat file_uri', (uri) => chat({ type: 'x', file_uri: uri }), 'messages[0].content[1].file_uri'],
  [
    'chat part of no known type',
    (at) => chat({ type: 'hologram', hologram: { at } }),
    'messages[0].content[1].hologram.at',
  ],
  ['a member of no known name', (at) => ({ messages: [], later: { at: [at] } }), 'later.at[0]'],
  [
    'a store of data',
    (endpoint) => ({ data_sources: [{ parameters: { endpoint } }] }),
    'data_sources[0].parameters.endpoint',
  ],
  [
    'responses agent',
    (url) => item({ type: 'agent_message', content: [{ type: 'input_image', image_url: url }] }),
    'input[0].content[0].image_url',
  ],
  ['responses output of ours', (url) => item({ type: 'sluice:x', result: { url } }), 'input[0].result.url'],
  [
    'responses variable of a prompt',
    (url) => ({ input: 'x', prompt: { id: 'p', variables: { a: { type: 'input_image', image_url: url } } } }),
    'prompt.variables.a.image_url',
  ],
  [
    'messages result of an MCP tool',
    (url) => messages({ type: 'mcp_tool_result', content: [{ type: 'image', source: { type: 'url', url } }] }),
    'messages[0].content[1].content[0].source.url',
  ],
];

/** Servers of tools are called by providers too. */
const SERVERS: readonly (readonly [place: string, request: (link: string) => object, path: string])[] = [
  [
    'responses server',
    (url) => ({
      input: 'x',
      tools: [{ type: 'mcp', server_label: 'x', server_url: url }],
    }),
    'tools[0].server_url',
  ],
  [
    'messages server',
    (url) => ({ model: 'a', messages: [user()], mcp_servers: [{ type: 'url', url }] }),
    'mcp_servers[0].url',
  ],
  [
    'responses server of more tools',
    (url) => item({ type: 'additional_tools', role: 'developer', tools: [{ type: 'mcp', server_url: url }] }),
    'input[0].tools[0].server_url',
  ],
];

const REFUSED = [
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://127.1/',
  'http://10.0.0.1/a.png',
  'http://192.168.0.1/a.png',
  'http://[::1]/a.png',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a00:1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2001:0:a9fe:a9fe::1]/',
  'http://[::169.254.169.254]/',
  'http://[fd00::1]/',
  'http://localhost:8080/a.png',
  'http://metadata.google.internal/',
  'http://metadata.goog/computeMetadata/v1/',
  'http://METADATA.goog./',
  'http://metadata/',
  'http://user:secret@acme.example/a.png',
  'file:///etc/passwd',
  ' file:///etc/passwd',
  'http://168.63.129.16/machine',
  'http://metadata./x',
  'http://169.254.169.254./x',
  'http://169.254.169.254.nip.io/x',
  'http://app-7f000001.nip.io/x',
  'http://fe80--1.sslip.io/x',
  'http://metadata.tencentyun.com/x',
  'http://a.10-0-0-1.sslip.io/x',
  'http://kubernetes.default.svc/api',
  'http://db.corp/x',
  'http://intranet.home/x',
  'http://vault.service.consul/x',
  'http://kubernetes.default/api',
  'http://VAULT.Default/',
  'http://redis.prod./x',
  'http://fritz.box/',
  'http://x.intern/',
  'http://169.254.169.254.../x',
  'http://metadata.google.internal.../x',
  'http://acme.example../a.png',
  'http://acme..example/a.png',
  'https://:secret@acme.example/a.png',
  'https://acme.example\\@169.254.169.254/',
  'http://169.254.169.254\n.acme.example/',
  'ht\ntp://169.254.169.254/',
  'http:169.254.169.254/x',
  'https:\\\\169.254.169.254\\x',
  'ftp://acme.example/a.png',
];

/** Members that hold other members, without those in which a type says what a member means. */
const placeWithoutType = fc.constantFrom(
  'input_audio',
  'input_video',
  'image_url',
  'video_url',
  'audio_url',
  'file_url',
  'file',
  'image',
  'audio',
  'video',
  'media',
  'messages',
  'input',
  'output',
  'later',
  'action',
  'environment',
  'extra_body',
  'prompt',
);
const memberOfLink = fc
  .tuple(
    fc.constantFrom(
      'data',
      'source',
      'url',
      'uri',
      'fileUri',
      'image_url',
      'input_audio',
      'file_data',
      'file_id',
      'server_url',
      'parameters',
      'input',
      'at',
      'text',
      'content',
    ),
    fc.constantFrom('http://169.254.169.254/x', 'file:///etc/passwd', 'gs://bucket/x', 'https://acme.example/x'),
    fc.boolean(),
  )
  .map(([name, link, isDeep]) => ({ [name]: isDeep ? { url: link } : link }));
const anyType = fc.oneof(
  fc.constantFrom('text', 'search_result', 'search_result_location', 'tool_use', 'server_tool_use', 'mcp_tool_use'),
  fc.constantFrom('function', 'custom', 'acme:x', 'anthropic', 'image_generation_call'),
  fc.string(),
  fc.constantFrom(null, 1, true),
);
const isInList = fc.boolean();

describe(findBodyLinkProblem.name, () => {
  it.each(['//169.254.169.254/x', '\\\\10.0.0.1\\x', '//[::1]/x'])(
    'refuses %j without a scheme as bytes or id',
    (link) => {
      expect(problemOf(chat({ type: 'file', file: { file_data: link } }))).toContain('file_data');
      expect(problemOf(chat({ type: 'file', file: { file_id: link } }))).toContain('file_id');
    },
  );

  it('takes base64 that begins with two slashes', () => {
    expect(problemOf(chat({ type: 'file', file: { file_data: '//5/AAAA' } }))).toBeNull();
  });

  describe.each([...PLACES, ...SERVERS])('%s', (_place, request, path) => {
    it.each(REFUSED)('refuses %j and names the field', (link) => {
      const found = findBodyLinkProblem(request(link) as Body);
      expect(found?.path).toBe(path);
      expect(found?.what).toMatch(/^ must (?:be|not hold) /);
    });

    it('takes a link to a public host', () => {
      expect(problemOf(request('https://acme.example/a.png'))).toBeNull();
    });
  });

  it.each(SERVERS.filter(([place]) => place !== 'messages server'))(
    'refuses cloud storage as a server: %s',
    (_, request, path) => {
      expect(problemOf(request('gs://bucket/x'))).toContain(path);
    },
  );

  it.each(PLACES)('leaves cloud storage to routing: %s', (_place, request) => {
    expect(problemOf(request('gs://bucket/x.png'))).toBeNull();
  });

  const LINK = 'http://localhost:3000/x';
  it.each<object>([
    messages({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'file:///etc/passwd' } }),
    { messages: [{ role: 'user', content: LINK }] },
    { messages: [{ role: 'tool', tool_call_id: LINK, content: LINK, name: LINK }] },
    chat({ type: 'text', text: LINK }),
    { system: LINK, messages: [] },
    { input: LINK, instructions: LINK },
    { input: [LINK, LINK] },
    item({ type: 'function_call_output', call_id: 'c', output: LINK }),
    item({ type: 'mcp_call', arguments: LINK, output: LINK }),
    item({ type: 'shell_call', action: { commands: [LINK] } }),
    item({ type: 'file_search_call', queries: [LINK], results: [{ text: LINK, attributes: { page: LINK } }] }),
    said({ reasoning_details: [{ type: 'reasoning.text', text: LINK, signature: LINK }] }),
    said({ tool_calls: [{ id: LINK, type: 'function', function: { name: 'f', arguments: LINK } }] }),
    messages({ type: 'tool_use', id: 't', name: 'f', input: { url: LINK } }),
    messages({ type: 'tool_result', tool_use_id: 't', content: LINK }),
    said({ content: [{ type: 'text', text: 'x', citations: [{ type: 'search_result_location', source: LINK }] }] }),
    messages({ type: 'search_result', source: LINK, title: LINK, content: [{ type: 'text', text: LINK }] }),
    { tools: [{ type: 'function', function: { parameters: { properties: { url: { default: LINK } } } } }] },
    { tools: [{ type: 'function', name: 'f', parameters: { properties: { url: { default: LINK } } } }] },
    { tools: [{ name: 'f', input_schema: { $id: LINK } }] },
    { response_format: { type: 'json_schema', json_schema: { schema: { $schema: LINK } } } },
    { metadata: { url: LINK }, user: LINK, trace: { url: LINK }, stop: [LINK] },
    { note: 'https: a short introduction', other: 'https://acme.example and http://localhost are links' },
    { kind: 'sluice:web_search', drive: 'urn:acme:x' },
    { note: '// to be done', other: '//TODO', third: '//acme.example and more words' },
    { other: 'url: of the page', third: 'feed: the cat' },
    { other: 'seen:https://example.com/a', third: 'a: http://localhost is where you are' },
  ])('leaves what no provider opens alone: %j', (body) => {
    expect(problemOf(body)).toBeNull();
  });

  it('reads a text of millions of schemes', () => {
    expect(problemOf({ other: 'a:'.repeat(4_000_000) })).toBeNull();
  });

  it.each([
    '//169.254.169.254/latest',
    '//localhost/x',
    '//[::1]/x',
    ' //169.254.169.254/x',
    '\\\\169.254.169.254\\x',
    '/\\169.254.169.254/x',
    '/\t/169.254.169.254/x',
    '//2130706433/x',
    '//0x7f000001/x',
    '//localhost?x',
    'unix:/run/docker.sock',
    'jdbc:mysql://10.0.0.1/',
    'jar:http://10.0.0.1/a.jar!/x',
    'view-source:http://localhost/',
    'url:http://10.0.0.1/',
    'feed:http://10.0.0.1/',
    'blob:http://10.0.0.1/1',
    'dbfs:/etc/passwd',
    'gopher:x',
    'concat:http://169.254.169.254/a',
    'crypto:cache:http://localhost/a',
    'cache:file:/etc/passwd',
    'url:http://loc\talhost/a',
  ])('refuses what some program may open in any member: %s', (link) => {
    expect(problemOf({ picture: link })).toContain('picture');
  });

  const image = { type: 'input_image', image_url: LINK };
  it.each<[object, string]>([
    [{ type: 'tool_use', input: [user(image)] }, 'input[0].content[0].image_url'],
    [{ type: 'function', parameters: { image_url: LINK } }, 'parameters.image_url'],
    [item({ type: 'mcp_tool_use', input: image }), 'input[0].input.image_url'],
    [said({ type: 'acme:x', parameters: image }), 'messages[1].parameters.image_url'],
  ])('is not led past a member by a type that means nothing in its place: %j', (body, path) => {
    expect(findBodyLinkProblem(body as Body)?.path).toBe(path);
  });

  it.each([
    [
      chat({ type: 'input_audio', input_audio: { type: 'text', data: LINK } }),
      'messages[0].content[1].input_audio.data',
    ],
    [said({ audio: { type: 'text', data: LINK } }), 'messages[1].audio.data'],
    [{ type: 'text', data: LINK }, 'data'],
    [chat({ type: 'image', image: { type: 'search_result', source: LINK } }), 'messages[0].content[1].image.source'],
    [item({ type: 'search_result_location', source: LINK }), 'input[0].source'],
  ])('does not take a link for text by a type that means nothing in its place: %j', (body, path) => {
    expect(findBodyLinkProblem(body as Body)?.path).toBe(path);
  });

  it('says the same whatever type stands where none is read', () => {
    fc.assert(
      fc.property(placeWithoutType, memberOfLink, anyType, isInList, (place, member, type, isList) => {
        const verdict = (holder: object): string | null => problemOf({ [place]: isList ? [holder] : holder });
        expect(verdict({ type, ...member })).toBe(verdict(member));
        expect(verdict({ ...member, type })).toBe(verdict(member));
        const within = (holder: object): string | null => problemOf(chat({ type: 'x', [place]: holder }));
        expect(within({ ...member, type })).toBe(within(member));
      }),
      { numRuns: 2_000 },
    );
  });

  it('never repeats a long name or the link', () => {
    const found = findBodyLinkProblem({ ['n'.repeat(10_000)]: 'http://localhost/secret' });
    expect(found?.path.length).toBeLessThan(100);
    expect(found?.what).not.toContain('secret');
  });
});

describe(findMediaLinkProblem.name, () => {
  it.each([
    'https://acme.example/a b.png',
    ' https://acme.example/a',
    'https://acme.example./a',
    'https://1.1.1.1/a',
    'https://1.1.1.1.nip.io/a',
    'https://v1.10.0.0-1.acme.example/a',
    'https://cdn-10.0.0.1a.acme.example/a',
  ])('takes %j', (link) => {
    expect(findMediaLinkProblem(link)).toBeNull();
  });
});
