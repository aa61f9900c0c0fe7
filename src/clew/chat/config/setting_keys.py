"""The keys of settings files: which clew uses, which mean nothing here, and which it does not support.

A key that would change what happens and does not is named at the start. So is an unknown key, with the known one that it
resembles.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from clew.chat.config.settings import Settings, SettingsSource, as_object
from clew.errors import ClewError


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


USED = _names(
    "$schema allowedHttpHookUrls allowedMcpServers allowManagedHooksOnly allowManagedPermissionRulesOnly"
    " alwaysThinkingEnabled apiKeyHelper attribution autoCompactEnabled deniedMcpServers disableAllHooks"
    " disabledMcpjsonServers effortLevel enabledPlugins env fallbackModel fileCheckpointingEnabled hooks"
    " httpHookAllowedEnvVars language model modelSettings outputStyle permissions sandbox statusLine"
)
# These have no meaning in clew, or clew does so anyway: it deletes no sessions, adds no signature, updates nothing, and
# `clew trust` is its approval of servers.
HARMLESS = _names(
    "agentPushNotifEnabled allowClaudeInChromeWithManagedMcp askUserQuestionTimeout autoContinueAtUsageLimit"
    " autoDreamEnabled autoScrollEnabled autoUpdatesChannel autoUploadSessions awaySummaryEnabled"
    " bashEditDiffEnabled breakReminder channelsEnabled clawdFileProgressEnabled cleanupPeriodDays"
    " companyAnnouncements crossSessionInbound daemonColdStart desktopSessionCleanupPeriodDays dialogExpiry"
    " disableAgentView disableArtifact disableAutoMode disableBundledSkills disableClaudeAiConnectors"
    " disableRemoteControl disableReplyCheck disableWindowsBashCommandSplit disableWorkflows editorMode"
    " emojiCompletionEnabled enableAllProjectMcpServers enableArtifact enabledMcpjsonServers enableWorkflows"
    " extraKnownMarketplaces feedbackDrafts feedbackSurveyRate footerLinksRegexes forceRemoteSettingsRefresh"
    " hasCompletedOnboarding idleCompaction includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled"
    " isolatePeerMachines keybindingFlavor maxProseWidth minimumVersion modelPicker modelPricing modelProposedGoals"
    " pluginSuggestionMarketplaces pluginTrustMessage precomputeArmTokens precomputeCompactionEnabled"
    " preferredNotifChannel prefersReducedMotion promptSuggestionEnabled prUrlTemplate quietHours remoteControl"
    " remoteControlAtStartup requiredMaximumVersion requiredMinimumVersion respectGitignore respondToBashCommands"
    " responseComparisonEnabled showClearContextOnPlanAccept showMessageTimestamps showThinkingSummaries"
    " showTurnDuration skipDangerousModePermissionPrompt skipWebFetchPreflight skipWorkflowUsageWarning spellcheck"
    " spinnerTipsEnabled spinnerTipsOverride spinnerVerbs subagentStatusLine switchModelsOnFlag syncClaudeAiPlugins"
    " syncClaudeAiSkills syntaxHighlightingDisabled teammateMode terminalProgressBarEnabled terminalTitleFromRename"
    " theme timeFormat todoFeatureEnabled tui ultracode verbose viewMode vimInsertModeRemaps voice"
    " wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled workflowSizeGuideline wslInheritsWindowsSettings"
)
UNSUPPORTED = _names(
    "additionalMarketplaces advisorModel agent allowAllClaudeAiMcps allowedChannelPlugins allowedMarketplaces"
    " allowedProviders allowManagedMcpServersOnly appendPlugins attributionProject attributionProjectPolicy"
    " autoCompactWindow autoMemoryDirectory autoMemoryEnabled availableModels availableModelsMatch awsAuthRefresh"
    " awsCredentialExport bashOutputMaxChars blockedMarketplaces claudeMd claudeMdExcludes defaultShell deniedModels"
    " disableCommandPluginSources disableSideloadFlags disableSkillShellExecution doneMeansMerged"
    " enforceAvailableModels fastMode fastModePerSessionOptIn fileSuggestion forceLoginGatewayUrl forceLoginMethod"
    " forceLoginOrgUUID gatewayInternalNetworks gcpAuthRefresh managedMcpServers managedSourcesBehavior"
    " maxEffortLevel modelOverrides otelHeadersHelper parentSettingsBehavior plansDirectory pluginConfigs"
    " policyHelper policyHelpers prependPlugins processWrapper promptCacheTtl proxyAuthHelper remote remoteTools"
    " skillListingBudgetFraction skillListingMaxDescChars skillOverrides sshConfigs sshHostCommands"
    " strictKnownMarketplaces strictPluginOnlyCustomization subagentPromptCacheTtl taskOutputMaxChars timeZone"
    " totalTokensReminder totalTokensReminderAfterUserTurn totalTokensReminderBudget worktree xaaIdp"
)


def check_keys(settings: Settings) -> Iterator[str]:
    """Yield a notice for each settings file with keys that have no effect. Raises ClewError if the settings require a
    sandbox.
    """
    for source in settings.sources:
        where = str(source.path) if source.path else "--settings"
        unsupported = sorted(UNSUPPORTED.intersection(source.data))
        if unsupported:
            yield f"{where}: clew does not use {', '.join(unsupported)}."
        known = USED | HARMLESS | UNSUPPORTED
        unknown = [_with_suggestion(key) for key in source.data if key not in known]
        if unknown:
            yield f"{where}: unknown {'setting' if len(unknown) == 1 else 'settings'} {', '.join(unknown)}."
        yield from _check_sandbox(source, where)


def _with_suggestion(key: str) -> str:
    near = get_close_matches(key, sorted(USED | HARMLESS | UNSUPPORTED), n=1, cutoff=0.75)
    return f"{key} (did you mean {near[0]}?)" if near else key


def _check_sandbox(source: SettingsSource, where: str) -> Iterator[str]:
    """clew has no sandbox: that is an error if the settings require one, else a notice."""
    sandbox = as_object(source.data.get("sandbox"))
    if sandbox.get("enabled") is not True:
        return
    if sandbox.get("failIfUnavailable") is True:
        raise ClewError(
            f"{where} requires a sandbox for commands, and clew has none.",
            hint="Set sandbox.failIfUnavailable to false to run commands without one, after a question.",
        )
    yield f"{where}: clew has no sandbox; commands run with your rights, after a question unless a rule allows them."
