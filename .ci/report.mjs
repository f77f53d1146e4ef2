/**
 * node .ci/report.mjs REPORT.json …: says what failed in vitest's reports, and last of all counts the tests.
 * What failed comes here again, since a log is often read from its end.
 */
import { readFileSync } from 'node:fs';

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, 'utf8')));
const sum = (field) => reports.reduce((total, report) => total + report[field], 0);

for (const file of reports.flatMap((report) => report.testResults)) {
  // A file that could not be loaded has a message and no test.
  if (file.status === 'failed' && file.message) console.log(`FAILED ${file.name}\n${file.message}`);
  for (const test of file.assertionResults) {
    if (test.status === 'failed')
      console.log(`FAILED ${file.name}: ${test.fullName}\n${test.failureMessages.join('\n')}`);
  }
}
if (reports.some((report) => report.numPassedTests === 0 || report.numFailedTestSuites > 0)) process.exitCode = 1;
console.log(`${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`);
