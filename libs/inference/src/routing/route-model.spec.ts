import { aCatalogue, aModel, anEndpoint } from '../testing';
import { recordedName, resolveModel } from './route-model';

const free = anEndpoint({ pricing: { prompt: 0n, completion: 0n } });
const extended = anEndpoint({ capabilities: { variant: 'extended' } });
const catalogue = aCatalogue(
  aModel({ aliases: ['large', 'old/large'], endpoints: [anEndpoint(), free, extended] }),
  aModel({ slug: 'acme/small:thinking' }),
  aModel({ slug: 'acme/opus-4.5', created: 10 }),
  aModel({ slug: 'acme/opus-4.10', created: 10 }),
  aModel({ slug: 'acme/opus-3-20260101', created: 9 }),
  aModel({ slug: 'acme/opus-mini-5', created: 30 }),
  aModel({ slug: 'other/opus-9', created: 30 }),
  aModel({ slug: 'acme/flash-3.8-preview', created: 40 }),
  aModel({ slug: 'acme/3.5-flash', created: 20 }),
  aModel({ slug: 'acme/sonnet-5', created: 0 }),
  aModel({ slug: 'acme/sonnet-4.6', created: 50 }),
  aModel({ slug: 'acme/sonnet-5.5', created: 0 }),
);
const resolve = (slug: string) => {
  const { model, ...rest } = resolveModel(slug, catalogue);
  return { slug: model?.slug ?? null, ...rest };
};

describe(resolveModel.name, () => {
  it.each([
    ['acme/large', 'acme/large', { namedBy: 'direct', sort: null, variant: null, admits: null }],
    ['large', 'acme/large', { namedBy: 'alias', sort: null, variant: null }],
    ['old/large:free:floor', 'acme/large', { namedBy: 'alias', variant: 'free', sort: 'price' }],
    ['acme/large:nitro', 'acme/large', { sort: 'throughput', admits: 'priority' }],
    ['acme/large:floor', 'acme/large', { sort: 'price', admits: 'flex' }],
    ['acme/large:exacto', 'acme/large', { sort: 'exacto', admits: null }],
    ['acme/large:free', 'acme/large', { variant: 'free' }],
    ['acme/large:extended:floor', 'acme/large', { variant: 'extended', sort: 'price' }],
    ['acme/large:online', 'acme/large', { isOnline: true, variant: null, sort: null }],
    ['acme/large:online:floor', 'acme/large', { isOnline: true, sort: 'price' }],
    ['acme/large:free:online', 'acme/large', { isOnline: true, variant: 'free' }],
    ['~acme/opus-latest:online', 'acme/opus-4.10', { isOnline: true, namedBy: 'latest' }],
    ['acme/small:thinking', 'acme/small:thinking', { variant: null, isOnline: false }],
    ['acme/small:thinking:nitro', 'acme/small:thinking', { variant: null, sort: 'throughput' }],
    ['~acme/opus-latest', 'acme/opus-4.10', { namedBy: 'latest' }],
    ['~acme/opus-mini-latest:floor', 'acme/opus-mini-5', { namedBy: 'latest', sort: 'price' }],
    ['~acme/flash-latest', 'acme/3.5-flash', { namedBy: 'latest' }],
    ['~acme/sonnet-latest', 'acme/sonnet-5.5', { namedBy: 'latest' }],
  ])('takes %s for %s', (name, slug, wish) => {
    expect(resolve(name)).toMatchObject({ slug, ...wish });
  });

  it.each([
    ['acme/none', 'model_not_found'],
    ['', 'model_not_found'],
    [':floor', 'model_not_found'],
    ['acme/large:', 'model_not_found'],
    ['acme/large:gold', 'model_not_found'],
    ['acme/large:thinking', 'model_not_found'],
    ['acme/large:floor:nitro', 'model_not_found'],
    ['acme/large:__proto__', 'model_not_found'],
    ['acme/none:online', 'model_not_found'],
    ['acme/large:online:online', 'model_not_found'],
    ['~acme/none-latest', 'model_not_found'],
    ['~acme/opus', 'model_not_found'],
    ['acme/large:batch', 'wrong_endpoint'],
    ['large:batch', 'wrong_endpoint'],
    ['LARGE', 'model_not_found'],
    [`acme/large${':floor'.repeat(10_000)}`, 'model_not_found'],
  ])('knows no %s', (name, code) => {
    expect(resolve(name)).toMatchObject({ slug: null, code });
  });
});

describe(recordedName.name, () => {
  it.each([
    ['large', 'acme/large'],
    ['old/large:floor', 'acme/large'],
    ['acme/large:floor', 'acme/large:floor'],
    ['~acme/opus-latest', '~acme/opus-latest'],
    ['acme/none', 'acme/none'],
    ['large:batch', 'large:batch'],
    ['sk-proj-0123', '[redacted]'],
  ])('has %s recorded as %s', (name, recorded) => {
    expect(recordedName(name, catalogue)).toBe(recorded);
  });
});
