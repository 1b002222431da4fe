import { dearerSetting } from './tool-settings';

describe(dearerSetting.name, () => {
  it.each([
    ['code_interpreter', { container: { type: 'auto', memory_limit: '64g' } }, 'container.memory_limit'],
    ['code_interpreter', { container: { type: 'auto', memory_limit: '4G' } }, 'container.memory_limit'],
    ['code_interpreter', { container: { type: 'auto', memoryLimit: '4g' } }, 'container.memoryLimit'],
    ['shell', { environment: { type: 'container_auto', memory_limit: 4 } }, 'environment.memory_limit'],
    ['shell', { memory_limit: '16g' }, 'memory_limit'],
    ['image_generation', { quality: 'high' }, 'quality'],
    ['image_generation', { size: '1536x1024' }, 'size'],
    ['image_generation', { model: 'gpt-image-2' }, 'model'],
    ['image_generation', { input_fidelity: 'high' }, 'input_fidelity'],
    ['image_generation', { partial_images: 3 }, 'partial_images'],
    ['image_generation', { n: 4 }, 'n'],
  ])('finds in %s %j %s', (tool, entry, path) => {
    expect(dearerSetting(tool, entry)).toBe(path);
  });

  it.each([
    ['code_interpreter', {}],
    ['code_interpreter', { container: 'cntr_1' }],
    ['code_interpreter', { container: { type: 'auto', memory_limit: '1g' } }],
    ['code_interpreter', { container: { type: 'auto', memory_limit: null } }],
    ['image_generation', { quality: 'auto', size: '1024x1024', input_fidelity: 'low', partial_images: 0 }],
    ['web_search', { search_context_size: 'high', user_location: { country: 'DE' }, quality: 'high' }],
  ])('finds nothing in %s %j', (tool, entry) => {
    expect(dearerSetting(tool, entry)).toBeNull();
  });
});
