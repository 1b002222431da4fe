import { findProviderPreferencesProblem } from '../routing/provider-preferences';
import { findBodyLinkProblem } from './body-links';

type Body = Readonly<Record<string, unknown>>;

const pathOf = (body: object): string | undefined => findBodyLinkProblem(body as Body)?.path;

const LINK = 'http://169.254.169.254/latest';
const holding = (name: string): object => ({ [name]: { url: LINK } });

describe('links below names that belong to functions', () => {
  it.each([
    [{ attributes: { url: LINK } }, 'attributes.url'],
    [{ function: { url: LINK } }, 'function.url'],
    [{ functions: [{ name: 'f', url: LINK }] }, 'functions[0].url'],
    [{ filters: { url: LINK } }, 'filters.url'],
    [{ messages: [{ role: 'user', content: [holding('attributes')] }] }, 'messages[0].content[0].attributes.url'],
    [{ messages: [{ role: 'user', content: [holding('function')] }] }, 'messages[0].content[0].function.url'],
    [{ input: [{ type: 'x', functions: [holding('x')] }] }, 'input[0].functions[0].x.url'],
    [{ tools: [{ type: 'function', function: { name: 'f', server: LINK } }] }, 'tools[0].function.server'],
    [{ later: { function: { parameters: { url: LINK } } } }, 'later.function.parameters.url'],
    [{ tool_choice: { type: 'function', function: { name: 'f', url: LINK } } }, 'tool_choice.function.url'],
  ])('are refused where a provider may follow them: %j', (body, path) => {
    expect(pathOf(body)).toBe(path);
  });

  const schema = { properties: { url: { default: LINK } } };
  it.each<object>([
    { tools: [{ type: 'function', function: { name: 'f', description: LINK, parameters: schema } }] },
    { input: [{ tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }] },
    { functions: [{ name: 'f', description: LINK, parameters: schema }] },
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f', arguments: LINK } }] }] },
    { messages: [{ role: 'assistant', function_call: { name: 'f', arguments: LINK } }] },
    { input: [{ type: 'file_search_call', results: [{ attributes: { url: LINK } }] }] },
    { input: [{ type: 'local_shell_call', action: { type: 'exec', command: ['curl', LINK], env: { API: LINK } } }] },
    { tools: [{ type: 'file_search', filters: { type: 'eq', key: 'url', value: LINK } }] },
    { tools: [{ name: 'f', input_schema: schema, input_examples: [{ url: LINK }] }] },
    { tools: [{ type: 'function', name: 'f', parameters: schema, output_schema: schema }] },
    { input: [{ type: 'web_search_call', action: { type: 'open_page', url: LINK } }] },
    { input: [{ type: 'web_search_call', action: { type: 'open_page', url: '' } }] },
    { input: [{ type: 'web_search_call', action: { type: 'find_in_page', url: LINK, pattern: 'x' } }] },
    { input: [{ type: 'local_shell_call', action: { working_directory: String.raw`\\wsl.localhost\Ubuntu\home` } }] },
    { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', current_url: LINK } }] },
    { messages: [{ role: 'user', content: [{ type: 'x', content: { lines: [LINK, 'localhost:80/'] } }] }] },
    { input: [{ type: 'image_generation_call', revised_prompt: LINK }] },
  ])('are left alone in what the model reads: %j', (body) => {
    expect(pathOf(body)).toBeUndefined();
  });

  it.each<[object, string]>([
    [{ action: { type: 'open_page', url: LINK } }, 'action.url'],
    [{ input: [{ action: { type: 'open_page', image_url: LINK } }] }, 'input[0].action.image_url'],
    [{ input: [{ action: { type: 'click', url: LINK } }] }, 'input[0].action.url'],
    [{ later: { output: { current_url: LINK } } }, 'later.output.current_url'],
    [{ input_examples: [{ url: LINK }] }, 'input_examples[0].url'],
    [{ output_schema: { url: LINK } }, 'output_schema.url'],
  ])('are refused where they are not the past of a model or a part of a tool: %j', (body, path) => {
    expect(pathOf(body)).toBe(path);
  });
});

describe('hosts without a scheme', () => {
  it.each([
    '169.254.169.254/latest/meta-data',
    '10.0.0.1:8080',
    '127.0.0.1:80/x',
    ' 10.0.0.1/x ',
    '[::1]/x',
    '[::ffff:169.254.169.254]:80',
    'localhost/x',
    'LOCALHOST:8080',
    'metadata.google.internal/computeMetadata/v1',
    'vault.service.consul:8200',
    '10.0.0.1.nip.io/x',
    'user@localhost/x',
    'user@other@localhost/x',
    `${'u'.repeat(70)}@localhost/x`,
    'localhost/8',
    'vault.internal/12',
    'localhost./x',
    '127.0.0.1./x',
    'metadata.google.internal.:80',
    '127.0.0.1:/x',
    '127.0.0.1:000080',
    '10.0.0.1/80',
    '0177.0.0.1/x',
    '0x7f.0.0.1/x',
    '0x7f000001/x',
    '127\u30020\uff0e0\uff611/x',
    '\uff4cocalhost/x',
    'local\u00adhost:80',
    '\u0085localhost:80',
  ])('are refused in a field of any name: %j', (text) => {
    expect(pathOf({ picture: text })).toBe('picture');
    expect(pathOf({ later: [{ at: text }] })).toBe('later[0].at');
  });

  it.each(['host', 'hostname', 'endpoint', 'search_endpoint', 'server', 'origin', 'proxy', 'href', 'src', 'callback'])(
    'are refused without port and path where the name says that it is a host: %s',
    (name) => {
      for (const text of ['localhost', '10.0.0.1', '[::1]', 'metadata.google.internal']) {
        expect(pathOf({ [name]: text })).toBe(name);
      }
      for (const text of ['acme.example', 'acme.example:443', '1.1.1.1', '/v1/chat/completions', 'default']) {
        expect(pathOf({ [name]: text })).toBeUndefined();
      }
    },
  );

  it.each([
    'acme.example/a.png',
    '10.0.0.1',
    '10.0.0.0/8',
    '10.2/beta',
    'v1.0/chat',
    'openai/gpt-5',
    '2026/10/11',
    'localhost',
    'localhost is where you are',
    '10.0.0.1: the first address',
    'localhost:notes',
    'src/main.rs',
    '0x10/0x20',
    '1024.1.1.1/x',
    '10.0.0.0/32',
    'localhost:',
    '\u4f60\u597d/\u4e16\u754c',
    '//\u6ce8\u91ca',
    '//\u6ce8\u91ca\u3002\u8fd9\u662f',
    '///docs.example/x',
    'a.@'.repeat(1_000_000),
    `${'/'.repeat(16_000_000)}.`,
    `c:https://acme.example/${'|x'.repeat(1_000)}`,
    'a'.repeat(4_000_000),
    'a.'.repeat(2_000_000),
  ])('are not seen in other text: %.40j', (text) => {
    expect(pathOf({ picture: text })).toBeUndefined();
  });

  it.each([
    '///10.0.0.1/x',
    '/\t//localhost/x',
    '//127\u30020\u30020\u30021/x',
    '//\uff4cocalhost/x',
    '//\uff10x7f000001/x',
    'concat:https://acme.example/a|http://10.0.0.1/b',
    'subfile,,start,0,end,9,,:http://10.0.0.1/a',
  ])('are refused behind slashes and the prefixes of programs: %j', (text) => {
    expect(pathOf({ picture: text })).toBe('picture');
  });

  it('are refused in the options of a provider', () => {
    const problem = findProviderPreferencesProblem({ options: { acme: { hosts: ['localhost'] } } });
    expect(problem).toBe('.options.acme.hosts[0] must be on a public host');
    expect(findProviderPreferencesProblem({ options: { acme: { at: ['10.0.0.1:80'] } } })).toContain('.acme.at[0]');
  });

  it('are text where a model reads them', () => {
    const content = 'localhost:8080/x';
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: content } };
    expect(pathOf({ messages: [{ role: 'assistant', content, tool_calls: [call] }] })).toBeUndefined();
  });
});
