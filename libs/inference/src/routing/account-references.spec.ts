import fc from 'fast-check';
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
    [{ input: [{ type: 'image_generation_call', id: 'ig_1', result: null }] }, 'input[0].id'],
    [said({ type: 'file', file: { File_ID: 'file-1' } }), 'messages[0].content[1].file.File_ID'],
    [{ fileId: 'file-1' }, 'fileId'],
    [{ x: { vectorStoreIds: ['vs_1'] } }, 'x.vectorStoreIds'],
    [{ DataSources: [{}] }, 'DataSources'],
    [{ tools: [{ type: 'x', Container: { id: 'c' } }] }, 'tools[0].Container.id'],
    [{ context_id: 'ctx-1' }, 'context_id'],
    [{ assistant_id: 'asst_1' }, 'assistant_id'],
    [{ thread_id: 'thread_1' }, 'thread_id'],
    [{ memory_id: 'm' }, 'memory_id'],
    [{ rag_options: { pipeline_ids: ['p'] } }, 'rag_options.pipeline_ids'],
    [{ prompt_id: 'pmpt_1' }, 'prompt_id'],
    [{ container: 'container_1' }, 'container'],
    [{ container: { id: 'container_1' } }, 'container.id'],
    [{ cached_content: 'cachedContents/1' }, 'cached_content'],
    [{ some: { deep: { cachedContent: 'cachedContents/1' } } }, 'some.deep.cachedContent'],
    [{ extra_body: { google: { cached_content: 'cachedContents/1' } } }, 'extra_body.google.cached_content'],
    [{ data_sources: [{ type: 'azure_search', parameters: { index_name: 'hr' } }] }, 'data_sources'],
    [{ container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } }, 'container.skills[0].skill_id'],
    [{ audio: { format: 'mp3', voice: { id: 'voice_1' } } }, 'audio.voice.id'],
    [{ tools: [{ type: 'document_library', library_ids: ['l'] }] }, 'tools[0].library_ids'],
    [{ tools: [{ type: 'collections_search', collection_ids: ['c'] }] }, 'tools[0].collection_ids'],
    [{ tools: [{ type: 'retrieval', retrieval: { knowledge_id: 'k' } }] }, 'tools[0].retrieval.knowledge_id'],
    [{ tools: [{ type: 'x', x: { knowledge_base_ids: ['k'] } }] }, 'tools[0].x.knowledge_base_ids'],
    [{ tools: [{ type: 'x', x: { knowledge_base_id: 'k' } }] }, 'tools[0].x.knowledge_base_id'],
    [{ tools: [{ type: 'x', vector_store_id: 'v' }] }, 'tools[0].vector_store_id'],
    [{ tools: [{ type: 'x', collection_id: 'c' }] }, 'tools[0].collection_id'],
    [{ tools: [{ type: 'x', library_id: 'l' }] }, 'tools[0].library_id'],
    [{ tools: [{ type: 'x', project_connection_id: 'p' }] }, 'tools[0].project_connection_id'],
    [{ tools: [{ type: 'x', container_ids: ['c'] }] }, 'tools[0].container_ids'],
    [
      { input: [{ type: 'additional_tools', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }] },
      'input[0].tools[0].vector_store_ids',
    ],
    [said({ type: 'file', file: { fileUri: 'files/abc' } }), 'messages[0].content[1].file.fileUri'],
    [said({ type: 'hologram', at: 'gs://bucket/a' }), 'messages[0].content[1].at'],
    [{ messages: [{ role: 'system', content: 'fileid://file-fe-1' }] }, 'messages[0].content'],
    [{ provider: { options: { openai: { file_id: 'file-1' } } } }, 'provider.options.openai.file_id'],
    ...[
      'https://generativelanguage.googleapis.com:443/v1beta/files/abc',
      'https://generativelanguage.googleapis.com./v1beta/files/abc',
      'https://generativelanguage.googleapis.com/v1beta/%66iles/abc',
      'https://GenerativeLanguage.GoogleAPIs.com/v1beta/Files/abc',
      'https:\\\\generativelanguage.googleapis.com\\v1beta\\files\\abc',
      ' https://generativelanguage.googleapis.com/v1beta/files/abc',
      'https://x:y@generativelanguage.googleapis.com/v1beta/files/abc',
      'HTTPS:generativelanguage.googleapis.com/v1beta/files/abc',
    ].map((url): [object, string] => [
      said({ type: 'image_url', image_url: { url } }),
      'messages[0].content[1].image_url.url',
    ]),
    [{ type: 'tool_use', input: [{ content: [{ type: 'input_file', file_id: 'f' }] }] }, 'input[0].content[0].file_id'],
    ...['oss://bucket/a.mp3', 'gs://bucket/a.mp3', 'https://generativelanguage.googleapis.com/v1beta/files/abc'].map(
      (data): [object, string] => [
        said({ type: 'input_audio', input_audio: { type: 'text', data } }),
        'messages[0].content[1].input_audio.data',
      ],
    ),
    [said({ type: 'x', image: { type: 'search_result', source: 'gs://b/a' } }), 'messages[0].content[1].image.source'],
    [{ tools: [{ type: 'anthropic', skill_id: 'skill_1' }] }, 'tools[0].skill_id'],
    [{ provider: { options: { x: [{ type: 'image_generation_call', id: 'ig_1' }] } } }, 'provider.options.x[0].id'],
    [{ provider: { options: { x: { type: 'text', data: 'gs://b/a' } } } }, 'provider.options.x.data'],
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
    { container: { skills: [{ type: 'anthropic', skill_id: 'pptx' }] }, extra_body: {} },
    { extra_body: { google: { thinking_config: { thinking_budget: 512 } } } },
    { input: [{ type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=' }] },
    { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] },
    { audio: { voice: 'alloy', format: 'mp3' }, messages: [{ role: 'assistant', audio: { data: 'AAAA' } }] },
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    { messages: [{ role: 'user', content: 'files/abc and gs://bucket/a' }], system: 'gs://bucket/a' },
    // Codex sends it with every request.
    { input: 'text', client_metadata: { session_id: 's', thread_id: 't', 'x-codex-installation-id': 'i' } },
    { messages: [{ role: 'tool', content: 'gs://bucket/a' }], metadata: { file_id: 'mine', url: 'gs://b/a' } },
    said({ type: 'image_url', image_url: { url: 'https://googleapis.com.acme.example/files/a' } }),
    said({ type: 'document', source: { type: 'text', data: 'files/abc' } }),
    { provider: { only: ['gs://b/a'], options: { veo: { uri: 'https://acme.example/a' } } } },
    { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }], input: 'text', container: null },
  ])("leaves the caller's own words alone: %j", (body) => {
    expect(accountReferenceIn(body as Record<string, unknown>)).toBeNull();
  });

  const places = fc.constantFrom(
    'input_audio',
    'input_video',
    'image_url',
    'file',
    'image',
    'audio',
    'messages',
    'input',
    'later',
    'tools',
  );
  const members = fc
    .tuple(
      fc.constantFrom('data', 'source', 'url', 'fileUri', 'input_audio', 'file_data', 'file_id', 'skill_id', 'at'),
      fc.constantFrom('gs://b/a', 'oss://b/a', 'files/abc', 'https://acme.example/a'),
    )
    .map(([name, value]) => ({ [name]: value }));
  const types = fc.oneof(
    fc.constantFrom('text', 'search_result', 'search_result_location', 'anthropic', 'tool_use', 'function', 'acme:x'),
    // Not one that is a reference itself.
    fc
      .string()
      .filter((text) => accountReferenceIn({ ...said({ type: 'image_url', image_url: { url: text } }) }) === null),
  );

  it('says the same whatever type stands where none is read', () => {
    fc.assert(
      fc.property(places, members, types, fc.boolean(), (place, member, type, isList) => {
        const forms: readonly ((holder: object) => object)[] = [
          (holder) => ({ [place]: isList ? [holder] : holder }),
          (holder) => said({ type: 'x', [place]: isList ? [holder] : holder }),
          (holder) => ({ provider: { options: { [place]: isList ? [holder] : holder } } }),
        ];
        for (const form of forms) {
          const verdict = (holder: object): string | null => accountReferenceIn({ ...form(holder) });
          expect(verdict({ type, ...member })).toBe(verdict(member));
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
