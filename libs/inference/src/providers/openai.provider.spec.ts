import { describeConformance } from './testing/conformance';

describeConformance('openai');
describeConformance('openai', 'responses');
