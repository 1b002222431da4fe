import type { Principal } from '@libs/contracts';
import { parsePercent, type OwnCredential } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, anOwnCredential, aProvider } from '@libs/inference/testing';
import { aPrincipal } from '@libs/platform/testing';
import { chargedShareFor } from './charged-share';
import { estimateHold } from './hold-estimate';

const PRICES = { prompt: 10_000_000n, completion: 0n };
const acme = anEndpoint({ provider: aProvider({ slug: 'acme' }), pricing: PRICES });
const other = anEndpoint({ provider: aProvider({ slug: 'other' }), pricing: PRICES });
const LIMITED = aPrincipal({ limitUsd: '5', includeByokInLimit: true });
const model = aModel({ slug: 'acme/large', endpoints: [acme] });
const LIST_PRICE = 1_000_000n;
const FEE = 50_000n;

function holdOf(
  keys: readonly Partial<OwnCredential>[],
  endpoints = [acme],
  caller: Principal = aPrincipal(),
  isShared = true,
): bigint {
  const own = keys.map((key) => anOwnCredential({ provider: 'acme', ...key }));
  const share = chargedShareFor(caller, own, () => isShared, parsePercent('5'));
  const expected = { api: 'chat', models: ['acme/large'], promptTokens: 100_000, maxTokens: 0, answers: 1 } as const;
  return estimateHold(aCatalogue(aModel({ slug: 'acme/large', endpoints })), expected, share);
}

describe(chargedShareFor.name, () => {
  it('holds the fee alone where no key of the operator may serve', () => {
    expect(holdOf([{ isByokOnly: true }])).toBe(FEE);
    expect(holdOf([{ isRequired: true }], [acme, other])).toBe(FEE);
  });

  it('M9: holds the fee alone where the operator has no key, as for own resources of cloud platforms', () => {
    expect(holdOf([{}], [acme], aPrincipal(), false)).toBe(FEE);
    expect(holdOf([], [acme], aPrincipal(), false)).toBe(LIST_PRICE);
  });

  it.each<[string, Parameters<typeof holdOf>]>([
    ['there are no own keys', [[]]],
    ['the key of the operator may serve where an own one fails', [[{}]]],
    ['another provider may serve', [[{ isByokOnly: true }], [acme, other]]],
    ['the key is disabled', [[{ isByokOnly: true, isDisabled: true }]]],
    ['the key is for another model', [[{ isRequired: true, allowedModels: ['acme/small'] }]]],
    ['a limit counts what providers charge, and no key serves', [[{ provider: 'third' }], [acme], LIMITED]],
  ])('holds the list price where %s', (_what, args) => {
    expect(holdOf(...args)).toBe(LIST_PRICE);
  });

  it('holds the list price and the fee where a limit counts what the provider charges', () => {
    expect(holdOf([{ isByokOnly: true }], [acme], LIMITED)).toBe(LIST_PRICE + FEE);
    expect(holdOf([{}], [acme], LIMITED)).toBe(LIST_PRICE + FEE);
    expect(holdOf([{}], [acme], LIMITED, false)).toBe(LIST_PRICE + FEE);
  });

  it('holds the list price and the fee, that price or the fee where keys are not known', () => {
    expect(chargedShareFor(LIMITED, null, () => true, parsePercent('5'))?.(model, acme)).toBe(1_050_000n);
    expect(chargedShareFor(aPrincipal(), null, () => true, parsePercent('5'))?.(model, acme)).toBeNull();
    expect(chargedShareFor(aPrincipal(), null, () => false, parsePercent('5'))?.(model, acme)).toBe(50_000n);
  });
});
