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
  ])('are left alone in what the model reads: %j', (body) => {
    expect(pathOf(body)).toBeUndefined();
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
    'a'.repeat(4_000_000),
    'a.'.repeat(2_000_000),
  ])('are not seen in other text: %.40j', (text) => {
    expect(pathOf({ picture: text })).toBeUndefined();
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
