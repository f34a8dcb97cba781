package runtime

import (
	"errors"
	"fmt"
)

// The reasons of a DeploymentStatus.
const (
	ReasonServing             = "Serving"             // Ready
	ReasonInvalidName         = "InvalidName"         // a name cannot stand in a host name or path
	ReasonUnsupportedType     = "UnsupportedType"     // not deployment/...
	ReasonUnsupportedEndpoint = "UnsupportedEndpoint" // no endpoint, or one that is not HTTP
	ReasonImageInvalid        = "ImageInvalid"        // the reference or the image itself is unusable
	ReasonImageNotFound       = "ImageNotFound"       // the registry does not have it
	ReasonRegistryDenied      = "RegistryDenied"      // the registry wants credentials
	ReasonRegistryUnreachable = "RegistryUnreachable" // tried again by itself
	ReasonIndexMissing        = "IndexMissing"        // unpacked, but nothing answers at /
	ReasonPathTaken           = "PathTaken"           // another deployment answers there
	ReasonCommandInvalid      = "CommandInvalid"      // no command, or one that is no program
	ReasonEnvironmentInvalid  = "EnvironmentInvalid"  // a variable that cannot be set
	ReasonStarting            = "Starting"            // a process that does not answer yet
	ReasonReadinessTimeout    = "ReadinessTimeout"    // a process that did not answer in time; started again by itself
	ReasonCrashLoopBackOff    = "CrashLoopBackOff"    // a process that ended; started again by itself
)

// problem is why a deployment cannot be Ready. It is an answer, not a fault.
type problem struct {
	reason, message string
	again           bool // it may pass by itself: ask again
	cause           error
}

func (p *problem) Error() string { return p.reason + ": " + p.message }
func (p *problem) Unwrap() error { return p.cause }

// because makes a problem from a format.
func because(reason, format string, args ...any) *problem {
	err := fmt.Errorf(format, args...)
	return &problem{reason: reason, message: err.Error(), cause: errors.Unwrap(err)}
}
