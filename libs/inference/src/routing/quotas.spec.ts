import { aCatalogue, aModel, anEndpoint, aProvider } from '../testing';
import { accountOf, providerOfQuota, quotaGroupsOf } from './quotas';

const provider = aProvider({ slug: 'acme/eu' });
const endpoints = [
  anEndpoint({ provider, upstreamModel: '@cf/one model', quotaGroup: null }),
  anEndpoint({ provider, upstreamModel: 'two', quotaGroup: 'shared' }),
  anEndpoint({ provider, upstreamModel: 'three', quotaGroup: 'shared' }),
  anEndpoint({ provider: aProvider({ slug: 'other' }), upstreamModel: 'two', quotaGroup: 'shared' }),
];
const groups = quotaGroupsOf(
  aCatalogue(...endpoints.map((one, index) => aModel({ slug: `a/${index}`, endpoints: [one] }))),
);

describe(quotaGroupsOf.name, () => {
  it.each([
    ['acme/eu', 'unknown'],
    [accountOf('acme/eu', 'credential'), '@cf/one model'],
  ])('gives the account %s a quota of its own for the model %s', (account, upstreamModel) => {
    const quota = groups.quotaOf({ account, upstreamModel });
    expect(groups.membersOf(quota)).toEqual([{ account, upstreamModel }]);
    expect(providerOfQuota(quota)).toBe('acme/eu');
  });

  it.each(['acme/eu', accountOf('acme/eu', 'credential')])(
    'gives %s one quota for all models of a group',
    (account) => {
      const quota = groups.quotaOf({ account, upstreamModel: 'two' });
      expect(groups.quotaOf({ account, upstreamModel: 'three' })).toBe(quota);
      expect(groups.membersOf(quota)).toEqual([
        { account, upstreamModel: 'two' },
        { account, upstreamModel: 'three' },
      ]);
      expect(providerOfQuota(quota)).toBe('acme/eu');
    },
  );

  it('tells the groups of providers and the accounts at one provider apart', () => {
    const accounts = ['acme/eu', 'other', accountOf('acme/eu', 'credential')];
    expect(new Set(accounts.map((account) => groups.quotaOf({ account, upstreamModel: 'two' }))).size).toBe(3);
  });

  it('has nothing for a group that the catalogue no longer names', () => {
    expect(groups.membersOf('acme/eu#gone')).toEqual([]);
  });
});
