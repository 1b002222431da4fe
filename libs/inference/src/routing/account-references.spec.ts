import { accountReferenceIn } from './account-references';

const said = (part: object): object => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, part] }] });

describe(accountReferenceIn.name, () => {
  it.each([
    [said({ type: 'image_url', image_url: { url: 'gs://bucket/a.png' } }), 'messages[0].content[1].image_url.url'],
    [said({ type: 'image_url', image_url: { url: ' S3://bucket/a.png' } }), 'messages[0].content[1].image_url.url'],
    [said({ type: 'file', file: { file_data: 'gs://bucket/a.pdf' } }), 'messages[0].content[1].file.file_data'],
    [said({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[1].file.file_id'],
    [said({ type: 'file', file: { file_id: 'https://acme.example/a' } }), 'messages[0].content[1].file.file_id'],
    [
      said({
        type: 'video_url',
        video_url: { url: 'https://generativelanguage.googleapis.com/v1beta/files/abc' },
      }),
      'messages[0].content[1].video_url.url',
    ],
    [said({ type: 'document', source: { type: 'file', file_id: 'file_1' } }), 'messages[0].content[1].source.file_id'],
    [said({ type: 'container_upload', file_id: 'file_1' }), 'messages[0].content[1].file_id'],
    [
      said({ type: 'tool_result', content: [{ type: 'image', source: { type: 'url', url: 'gs://b/a.png' } }] }),
      'messages[0].content[1].content[0].source.url',
    ],
    [{ input: [{ content: [{ type: 'input_image', file_id: 'file-1' }] }] }, 'input[0].content[0].file_id'],
    [{ input: [{ content: [{ type: 'input_file', file_url: 'gs://b/a' }] }] }, 'input[0].content[0].file_url'],
    [{ input: [{ type: 'code_interpreter_call', container_id: 'cntr_1' }] }, 'input[0].container_id'],
    [{ input: [{ type: 'computer_call_output', output: { file_id: 'file-1' } }] }, 'input[0].output.file_id'],
    [
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'gs://b/a' } }] }] },
      'input[0].content[0].image_url.url',
    ],
    [{ tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }, 'tools[0].vector_store_ids'],
    [{ tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools[0].container'],
    [{ tools: [{ type: 'code_interpreter', container: { file_ids: ['file-1'] } }] }, 'tools[0].container.file_ids'],
    [
      { tools: [{ type: 'image_generation', input_image_mask: { file_id: 'f' } }] },
      'tools[0].input_image_mask.file_id',
    ],
    [{ tools: [{ type: 'shell', environment: { container_id: 'c' } }] }, 'tools[0].environment.container_id'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt.id'],
    [{ container: 'container_1' }, 'container'],
    [{ container: { id: 'container_1' } }, 'container.id'],
    [{ cached_content: 'cachedContents/1' }, 'cached_content'],
    [{ provider: { options: { veo: { storageUri: 'gs://b/a' } } } }, 'provider.options.veo.storageUri'],
  ])('finds what lies in the account of the provider: %j', (body, path) => {
    expect(accountReferenceIn(body as Record<string, unknown>)).toBe(path);
  });

  it.each([
    said({ type: 'image_url', image_url: { url: 'https://acme.example/files/a.png' } }),
    said({ type: 'text', text: 'gs://bucket/a.png' }),
    said({ type: 'tool_use', input: { file_id: 'mine', url: 'gs://b/a' } }),
    { tools: [{ type: 'function', function: { parameters: { properties: { file_id: { type: 'string' } } } } }] },
    { tools: [{ name: 'f', input_schema: { properties: { container: 'x' } } }] },
    { provider: { only: ['gs://b/a'], options: { veo: { uri: 'https://acme.example/a' } } } },
    { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }], input: 'text', container: null },
  ])("leaves the caller's own words alone: %j", (body) => {
    expect(accountReferenceIn(body as Record<string, unknown>)).toBeNull();
  });
});
