import { scanMembers } from '@libs/json';
import type { CanonicalRequest } from '../model/canonical-request';
import { LossLog } from '../model/loss-report';
import { anEndpoint } from '../testing';
import { untakenMembers, withoutUntaken } from './untaken-parameters';

const every = {
  temperature: 1,
  top_p: 1,
  frequency_penalty: 1,
  presence_penalty: 1,
  logit_bias: { 7: 1 },
  logprobs: true,
  top_logprobs: 2,
  seed: 1,
  verbosity: 'low',
};
const names = Object.keys(every);
const body = scanMembers(Buffer.from(JSON.stringify({ model: 'm', stop: ['.'], ...every })));

const request = {
  messages: [],
  unread: [],
  sampling: { temperature: 1, topK: 3, seed: 1, logitBias: { 7: 1 } },
  topLogprobs: 2,
  verbosity: 'low',
  stopSequences: ['.'],
} as unknown as CanonicalRequest;

describe('settings that an endpoint does not list', () => {
  it.each(names)('are kept from it, but for %s, which it lists', (listed) => {
    const log = new LossLog();
    const others = names.filter((name) => name !== listed);
    expect(untakenMembers(body, anEndpoint({ supportedParameters: ['tools', listed] }), log)).toEqual(others);
    expect(log.report().dropped).toEqual(others);
  });

  it('reach it where it lists nothing at all', () => {
    expect(untakenMembers(body, anEndpoint())).toEqual([]);
    expect(withoutUntaken(request, anEndpoint(), new LossLog())).toBe(request);
  });

  it('are kept from it in a translation too', () => {
    const log = new LossLog();
    const listing = anEndpoint({ supportedParameters: ['logprobs'] });
    const { verbosity: _verbosity, ...rest } = request;
    expect(withoutUntaken(request, listing, log)).toEqual({ ...rest, sampling: { topK: 3 } });
    expect(log.report()).toEqual({ dropped: ['temperature', 'logit_bias', 'seed', 'verbosity'], approximated: [] });
  });

  it('are no loss where nobody asked for them', () => {
    const log = new LossLog();
    const quiet = { ...request, sampling: {}, topLogprobs: undefined, verbosity: undefined };
    expect(withoutUntaken(quiet, anEndpoint({ supportedParameters: ['tools'] }), log).sampling).toEqual({});
    expect(log.report().dropped).toEqual([]);
  });
});

describe('what a model without thoughts is asked', () => {
  const plain = anEndpoint({ supportedParameters: ['tools'] });
  const asking = (reasoning: object): CanonicalRequest => ({ ...request, reasoning });

  it.each(['reasoning', 'reasoning_effort'])('is kept from it, but not from one that lists %s', (listed) => {
    const thinking = scanMembers(Buffer.from('{"reasoning":{"effort":"low"},"reasoning_effort":"low"}'));
    const log = new LossLog();
    expect(untakenMembers(thinking, plain, log)).toEqual(['reasoning', 'reasoning_effort']);
    expect(log.report().dropped).toEqual(['reasoning', 'reasoning_effort']);
    expect(untakenMembers(thinking, anEndpoint({ supportedParameters: [listed] }))).toEqual([]);
    const kept = withoutUntaken(asking({ effort: 'low' }), anEndpoint({ supportedParameters: [listed] }), log);
    expect(kept.reasoning).toEqual({ effort: 'low' });
  });

  it('is no loss where it is null', () => {
    const log = new LossLog();
    expect(untakenMembers(scanMembers(Buffer.from('{"reasoning":null}')), plain, log)).toEqual(['reasoning']);
    expect(log.report().dropped).toEqual([]);
  });

  it.each([
    [{ effort: 'high' }, ['reasoning']],
    [{ maxTokens: 2_000, isHidden: true }, ['reasoning']],
    [{ isEnabled: true }, ['reasoning']],
    [{ effort: 'none' }, []],
    [{ isEnabled: false, effort: 'high' }, []],
    [{ isHidden: true }, []],
  ] as const)('of %j loses %j in a translation', (reasoning, dropped) => {
    const log = new LossLog();
    const kept = withoutUntaken(
      { ...asking(reasoning), sampling: {}, topLogprobs: undefined, verbosity: undefined },
      plain,
      log,
    );
    expect(log.report().dropped).toEqual(dropped);
    expect(kept.reasoning).toEqual('isHidden' in reasoning ? { isHidden: true } : undefined);
  });
});
