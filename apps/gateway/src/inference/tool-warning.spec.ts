import { toolWarning } from './tool-warning';

const warningOf = (...dropped: string[]) => toolWarning({ dropped, approximated: ['tools.strict'] });

describe(toolWarning.name, () => {
  it('names the tools that were left out, and nothing else', () => {
    expect(warningOf('top_k', 'tools.web_search', 'tools.sluice:look', 'toolsmith')).toBe(
      'left out: tools.web_search, tools.sluice:look',
    );
    expect(warningOf('functions', 'function_call')).toBe('left out: functions, function_call');
    expect(warningOf('top_k')).toBeNull();
    expect(warningOf()).toBeNull();
  });

  it('fits a header whatever the request names', () => {
    expect(warningOf('tools.a\r\nset-cookie: x', `tools.${'a'.repeat(129)}`, 'tools.\u00fc')).toBe(
      'left out: tools.type',
    );
    expect(warningOf(...Array.from({ length: 40 }, (_, at) => `tools.t${at}`))!.split(',')).toHaveLength(16);
  });
});
