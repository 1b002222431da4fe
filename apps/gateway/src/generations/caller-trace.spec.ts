import { storedTrace, traceAttributes, traceparentOf } from './caller-trace';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';

describe(storedTrace.name, () => {
  it('keeps texts, numbers and booleans as texts', () => {
    expect(storedTrace({ trace_id: 'a', attempt: 2, debug: true })).toEqual({
      trace_id: 'a',
      attempt: '2',
      debug: 'true',
    });
  });

  it('leaves out what is no such value, has an odd name, or cannot be stored', () => {
    const trace = {
      deep: { a: 1 },
      list: [1],
      none: null,
      empty: '',
      'a b': 'x',
      nul: 'a\0',
      [`k${'x'.repeat(64)}`]: 'x',
    };
    expect(storedTrace(trace)).toBeUndefined();
    for (const other of [null, undefined, 'text', [1]]) expect(storedTrace(other)).toBeUndefined();
  });

  it('keeps sixteen members of 256 characters at most', () => {
    const members = Array.from({ length: 40 }, (_, index) => [`key_${index}`, 'x'.repeat(1_000)]);
    const stored = storedTrace(Object.fromEntries(members))!;
    expect(Object.keys(stored)).toHaveLength(16);
    expect(Object.values(stored).every((text) => text.length === 256)).toBe(true);
  });
});

describe(traceAttributes.name, () => {
  it('names each member under sluice.trace', () => {
    expect(traceAttributes({ span_name: 'draft' })).toEqual({ 'sluice.trace.span_name': 'draft' });
    expect(traceAttributes(undefined)).toEqual({});
  });
});

describe(traceparentOf.name, () => {
  it('joins the ids of a trace and a span', () => {
    expect(traceparentOf({ trace_id: TRACE_ID, parent_span_id: SPAN_ID })).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`);
  });

  it.each([
    [{ trace_id: TRACE_ID }],
    [{ trace_id: 'conversation-7', parent_span_id: SPAN_ID }],
    [{ trace_id: '0'.repeat(32), parent_span_id: SPAN_ID }],
    [{ trace_id: TRACE_ID, parent_span_id: '0'.repeat(16) }],
    [{ trace_id: TRACE_ID, parent_span_id: `${SPAN_ID}\r\nx: y` }],
    [undefined],
  ])('is none of %j', (trace) => {
    expect(traceparentOf(trace)).toBeUndefined();
  });
});
