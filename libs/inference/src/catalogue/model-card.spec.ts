import { parseCatalogue } from './catalogue';
import { toModelEntry } from './catalogue-listing';

const catalogue = (listing: unknown) => {
  const provider = { slug: 'acme', name: 'Acme', base_url: 'http://127.0.0.1:1/v1', protocol: 'openai' };
  const endpoint = {
    provider: 'acme',
    upstream_model: 'up',
    apis: ['chat'],
    pricing: { prompt: '0.000001', completion: '0.000001' },
  };
  const model = { slug: 'acme/small', name: 'Small', listing, endpoints: [endpoint] };
  return parseCatalogue([{ name: 'a.yaml', text: JSON.stringify({ providers: [provider], models: [model] }) }]);
};

describe('what lists show of a model', () => {
  it('is what the catalogue says in `listing`', () => {
    const entry = toModelEntry(
      catalogue({
        hugging_face_id: 'acme/Small-8B',
        default_parameters: { temperature: 0.7, top_k: 40 },
        supported_voices: ['alloy', 'echo'],
        is_moderated: true,
        reasoning: { mandatory: true, supported_efforts: ['low', 'high'], default_effort: 'low' },
      }).findModel('acme/small')!,
    );
    expect(entry).toMatchObject({
      hugging_face_id: 'acme/Small-8B',
      default_parameters: { temperature: 0.7, top_k: 40 },
      supported_voices: ['alloy', 'echo'],
      top_provider: { is_moderated: true },
    });
    expect(entry.reasoning).toEqual({ mandatory: true, supported_efforts: ['low', 'high'], default_effort: 'low' });
  });

  it('is null without it', () => {
    const entry = toModelEntry(catalogue(undefined).findModel('acme/small')!);
    expect(entry).toMatchObject({ hugging_face_id: null, default_parameters: null, supported_voices: null });
    expect(entry).not.toHaveProperty('reasoning');
  });

  it.each([
    [{ colour: 'red' }, 'listing.colour'],
    [{ default_parameters: { seed: 1 } }, 'listing.default_parameters.seed'],
    [{ default_parameters: { temperature: 'warm' } }, 'listing.default_parameters.temperature'],
    [{ reasoning: { default_effort: 'low' } }, 'listing.reasoning.mandatory'],
    [{ default_parameters: { top_k: 0.5 } }, 'listing.default_parameters.top_k'],
    [{ reasoning: { mandatory: true, default_effort: 'turbo' } }, 'listing.reasoning.default_effort'],
    [{ hugging_face_id: 'acme/a/b:c' }, 'listing.hugging_face_id'],
    [{ supported_voices: 'alloy' }, 'listing.supported_voices'],
    ['text', 'listing'],
  ])('names the mistake in %j', (listing, path) => {
    expect(() => catalogue(listing)).toThrow(path);
  });
});
