// One story, told through whichever official client: list the tools, make the planned calls, then try a wrong token.
// The plan is the JSON file named on the command line; the outcome is one JSON object on standard output.

import { readFileSync } from 'node:fs';

export const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));

/** Runs the plan on a connected client; `callTool(name, arguments, onprogress)` hides how the SDKs differ. */
export async function tell(client, callTool) {
    const listed = await client.listTools();
    const answers = {};
    for (const { label, tool, arguments: given, progress } of plan.calls) {
        answers[label] = answer(await callTool({ name: tool, arguments: given }, progress ? () => {} : undefined));
    }
    return { server: client.getServerVersion()?.name, tools: listed.tools.map(tool => tool.name), answers };
}

function answer(result) {
    const texts = result.content.filter(part => part.type === 'text').map(part => part.text);
    return { is_error: result.isError ?? false, text: texts.join('\n'), structured: result.structuredContent ?? null };
}

/** What a connection with the wrong token ends in; null where the server let it in. */
export async function refusal(connect) {
    try {
        const client = await connect(plan.wrong_token);
        await client.listTools();
        return null;
    } catch (error) {
        return { name: error.constructor.name, status: error.status ?? error.data?.status ?? error.code, message: error.message };
    }
}
