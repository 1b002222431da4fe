import { UnderHeldCalls, type Shortage } from './under-held-calls';

const CREDITS = 1_000_000n;

function callOf(key: string, workspaceId = 'work') {
  return { organizationId: 'org', id: `call-of-${key}`, apiKeyHash: key, workspaceId };
}

function shortBy(by: Shortage['by'], budgetPicoUsd: Shortage['budgetPicoUsd'] = null): Shortage {
  return { by, lackPicoUsd: 1n, creditsPicoUsd: CREDITS, budgetPicoUsd };
}

describe('UnderHeldCalls', () => {
  it('refuses a call short by its key beside one that its workspace budget may not cover', () => {
    const calls = new UnderHeldCalls();
    expect(calls.begin(callOf('a'), shortBy('budget', 0n))).toBe(true);
    expect(calls.begin(callOf('b'), shortBy('key_limit', 39n))).toBe(false);
    expect(calls.begin(callOf('b'), shortBy('key_limit', 40n))).toBe(true);
  });

  it('takes a call short by its key beside one of another workspace that is short by its budget', () => {
    const calls = new UnderHeldCalls();
    expect(calls.begin(callOf('a', 'other'), shortBy('budget', 0n))).toBe(true);
    expect(calls.begin(callOf('b'), shortBy('key_limit'))).toBe(true);
  });
});
