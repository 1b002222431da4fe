import type { CanonicalRequest } from '../model/canonical-request';
import { LossLog } from '../model/loss-report';
import { anEndpoint } from '../testing';
import { dialectOf } from '.';
import { withAskedTier } from './asked-tier';

const REQUEST: CanonicalRequest = { messages: [], tools: [], sampling: {}, stopSequences: [], unread: [] };
/** A tier that only Groq has, one of batches, one that is not known, and names that differ only in case. */
const OTHERS = ['performance', 'batch', 'warp', '', 'Priority', 'on_demand_priority', 'SCALE'];

describe('the tier that an endpoint of the standard tier is asked for', () => {
  it.each(OTHERS)('is not %j where the operator pays, and is named as left out', (serviceTier) => {
    const log = new LossLog();
    expect(withAskedTier({ ...REQUEST, serviceTier }, anEndpoint(), { log })).toEqual(REQUEST);
    expect(log.report().dropped).toEqual(['service_tier']);
    for (const api of ['chat', 'responses', 'messages', 'embeddings'] as const) {
      const lost = new LossLog();
      const body = Buffer.from(JSON.stringify({ model: 'm', service_tier: serviceTier }));
      const sent = dialectOf(api).toUpstream(body, anEndpoint(), false, lost).toString();
      expect([api, sent]).toEqual([api, expect.not.stringContaining('service_tier')]);
      expect([api, ...lost.report().dropped]).toEqual([api, 'service_tier']);
    }
  });

  it.each(OTHERS.slice(0, 4))('is %j where its caller pays', (serviceTier) => {
    const asked = { ...REQUEST, serviceTier };
    expect(withAskedTier(asked, anEndpoint(), { isOwnKey: true })).toEqual(asked);
    const account = { isOwn: true, keepsNothing: false };
    for (const api of ['chat', 'responses', 'messages', 'embeddings'] as const) {
      const body = Buffer.from(JSON.stringify({ model: 'm', service_tier: serviceTier }));
      const sent = dialectOf(api).toUpstream(body, anEndpoint(), false, new LossLog(), account).toString();
      expect([api, JSON.parse(sent)]).toEqual([api, expect.objectContaining({ service_tier: serviceTier })]);
    }
  });

  it.each(['auto', 'default', 'standard_only', 'standard', 'on_demand'])(
    'is %s, which costs no more',
    (serviceTier) => {
      const asked = { ...REQUEST, serviceTier };
      expect(withAskedTier(asked, anEndpoint())).toEqual(asked);
    },
  );
});
