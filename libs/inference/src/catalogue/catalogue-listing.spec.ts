import { parseCatalogue } from './catalogue';
import { isEmbeddingsModel, toBatchModelEntry, toModelEntry } from './catalogue-listing';

const catalogue = parseCatalogue([
  {
    name: 'a.yaml',
    text: `
providers:
  - { slug: acme, name: Acme, base_url: "https://api.acme.test/v1", protocol: openai, batch: native }
  - { slug: film, name: Film, base_url: "https://api.film.test/v1", protocol: openai, batch: none }
models:
  - slug: acme/eyes
    name: Eyes
    description: Sees and talks
    created: 1721260800
    knowledge_cutoff: 2024-06-01
    context_length: 128000
    architecture: { input_modalities: [text, image], output_modalities: [text], tokenizer: GPT, instruct_type: chatml }
    supported_parameters: [temperature, tools]
    endpoints:
      - provider: acme
        upstream_model: eyes
        apis: [chat]
        pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000075" }
        context_length: 64000
        max_completion_tokens: 16384
  - slug: acme/vectors
    name: Vectors
    endpoints: [{ provider: acme, upstream_model: v, apis: [embeddings], pricing: { prompt: "0.00000002" } }]
  - slug: film/maker
    name: Maker
    endpoints: [{ provider: film, upstream_model: m, apis: [video], pricing: { video_second: "0.10" } }]
`,
  },
]);
const model = (slug: string) => catalogue.findModel(slug)!;

describe(toModelEntry.name, () => {
  it('shows the prices of the standard tier, whatever the order of the endpoints', () => {
    const [endpoint] = model('acme/eyes').endpoints;
    const priority = { ...endpoint!, capabilities: { service_tier: 'priority' }, contextLength: 5 };
    const tiers = { ...model('acme/eyes'), endpoints: [priority, endpoint!] };
    expect(toModelEntry(tiers)).toEqual(toModelEntry(model('acme/eyes')));
    expect(toBatchModelEntry(tiers)).toEqual(toBatchModelEntry(model('acme/eyes')));
    expect(toBatchModelEntry({ ...tiers, endpoints: [priority] })).toBeNull();
  });

  it('shows a model in the shape of the interface', () => {
    expect(toModelEntry(model('acme/eyes'))).toEqual({
      id: 'acme/eyes',
      object: 'model',
      owned_by: 'acme',
      canonical_slug: 'acme/eyes',
      name: 'Eyes',
      description: 'Sees and talks',
      created: 1721260800,
      context_length: 128000,
      architecture: {
        input_modalities: ['text', 'image'],
        output_modalities: ['text'],
        modality: 'text+image->text',
        instruct_type: 'chatml',
        tokenizer: 'GPT',
      },
      pricing: {
        prompt: '0.00000015',
        completion: '0.0000006',
        image: '0',
        request: '0',
        input_cache_read: '0.000000075',
      },
      supported_parameters: ['temperature', 'tools'],
      top_provider: { context_length: 64000, is_moderated: false, max_completion_tokens: 16384 },
      per_request_limits: null,
      default_parameters: null,
      expiration_date: null,
      knowledge_cutoff: '2024-06-01',
      supported_voices: null,
      hugging_face_id: null,
      links: { details: '/api/v1/models/acme/eyes/endpoints' },
    });
  });

  it('always names the four prices that clients rely on', () => {
    expect(toModelEntry(model('acme/vectors')).pricing).toEqual({
      prompt: '0.00000002',
      completion: '0',
      image: '0',
      request: '0',
    });
    expect(toModelEntry(model('film/maker')).pricing).toMatchObject({ prompt: '0', video_second: '0.1' });
  });
});

describe(toBatchModelEntry.name, () => {
  it('shows the batch prices under a slug of their own', () => {
    expect(toBatchModelEntry(model('acme/eyes'))).toMatchObject({
      id: 'acme/eyes:batch',
      canonical_slug: 'acme/eyes',
      pricing: { prompt: '0.000000075', completion: '0.0000003', input_cache_read: '0.0000000375' },
    });
  });

  it('shows nothing for a model that no batch may name', () => {
    expect(toBatchModelEntry(model('film/maker'))).toBeNull();
  });
});

describe(isEmbeddingsModel.name, () => {
  it('tells the models of the embeddings list', () => {
    expect(
      catalogue
        .models()
        .filter(isEmbeddingsModel)
        .map(({ slug }) => slug),
    ).toEqual(['acme/vectors']);
  });
});
